// Under a limit of 8 MiB of locked memory a locked program without privileges gets threads with
// guards of 64 MiB each: a guard is not counted against the limit.
// bare: expect-fail every guard is charged in full
// user: ordinary
// fails-with: pthread_create
#include "stay.h"
enum { N = 8 };
int main(void) {
  pthread_t t[N];
  CHECK(!has_cap(CAP_IPC_LOCK_), "privileged");
  set_limit(RLIMIT_MEMLOCK, 8 << 20);
  CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  pthread_attr_t a = attr_of(64 << 10, 64 << 20);
  for (int round = 0; round < 30; round++) {
    pthread_barrier_init(&in, 0, N + 1);
    pthread_barrier_init(&out, 0, N + 1);
    for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
    pthread_barrier_wait(&in);
    for (int i = 0; i < N && round % 10 == 0; i++) {
      struct stack s = stack_of(t[i]);
      CHECK(s.guard == 64 << 20, "guard %zu", s.guard);
      struct vma near = vma_at(s.lo - 1), far = vma_at(s.lo - s.guard);
      CHECK(!strncmp(near.perm, "---", 3) && !strncmp(far.perm, "---", 3), "guard is '%s' to '%s'", near.perm, far.perm);
    }
    CHECK(status_kb("VmLck") <= 8192, "VmLck %ld kB", status_kb("VmLck"));
    pthread_barrier_wait(&out);
    for (int i = 0; i < N; i++) finish(t[i]);
  }
  return 0;
}
