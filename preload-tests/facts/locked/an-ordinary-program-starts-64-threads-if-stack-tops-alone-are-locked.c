// With LIBFIX_STACK_LOCK=64K a program without privileges that locks itself under the usual limit
// of 8 MiB has 64 threads with default stacks at once, and is charged 64 KiB for each. Each may
// use its whole stack. The threads that follow them are charged no more.
// bare: expect-fail one default stack is more than the limit
// fails-with: pthread_create
// env: LIBFIX_STACK_LOCK=64K
#include "stay.h"
enum { N = 64, TOP_KB = 64 };
static void *deep(void *arg) {
  enum { BYTES = 7 << 20 };
  volatile char *p = __builtin_alloca(BYTES);
  for (size_t i = 0; i < BYTES; i += 4096) p[BYTES - 1 - i] = 1;
  return arg;
}
int main(void) {
  set_limit(RLIMIT_STACK, 8 << 20);
  set_limit(RLIMIT_MEMLOCK, 8 << 20);
  become_ordinary(65534);
  CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  for (int round = 0; round < 3; round++) {
    pthread_t t[N];
    pthread_barrier_init(&in, 0, N + 1);
    pthread_barrier_init(&out, 0, N + 1);
    long lck = status_kb("VmLck");
    for (int i = 0; i < N; i++) t[i] = start(0, stay, 0);
    pthread_barrier_wait(&in);
    lck = status_kb("VmLck") - lck;
    if (round == 0)
      CHECK(lck >= N * TOP_KB && lck <= N * TOP_KB + 128, "%d threads added %ld kB to VmLck", N, lck);
    else
      CHECK(lck <= N * TOP_KB, "round %d: %d threads added %ld kB to VmLck", round, N, lck);
    pthread_barrier_wait(&out);
    for (int i = 0; i < N; i++) finish(t[i]);
    for (int i = 0; i < 10; i++) finish(start(0, deep, 0));
  }
  long lck = status_kb("VmLck");
  CHECK(lck < 8 << 10, "VmLck is %ld kB", lck);
  return 0;
}
