// mlockall can be called again and again without privileges, under the limit of 8 MiB, by a program
// that has small threads running and has used the heap: nothing reserved meanwhile stands in its way.
// user: ordinary
#include "stay.h"
enum { N = 4 };
int main(void) {
  pthread_t t[N];
  set_limit(RLIMIT_MEMLOCK, 8 << 20);
  pthread_attr_t a = attr_of(64 << 10, 4096);
  for (int i = 0; i < 10; i++) {
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall %d: %s (VmSize %ld kB, VmLck %ld kB)", i, strerror(errno),
          status_kb("VmSize"), status_kb("VmLck"));
    pthread_barrier_init(&in, 0, N + 1);
    pthread_barrier_init(&out, 0, N + 1);
    for (int k = 0; k < N; k++) t[k] = start(&a, stay, 0);
    pthread_barrier_wait(&in);
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall with threads, %d: %s (VmSize %ld kB, VmLck %ld kB)", i,
          strerror(errno), status_kb("VmSize"), status_kb("VmLck"));
    pthread_barrier_wait(&out);
    for (int k = 0; k < N; k++) finish(t[k]);
    void *p = malloc(100 << 10);
    CHECK(p, "malloc");
    free(p);
    if (i % 3 == 2) CHECK(!munlockall(), "munlockall");
  }
  return 0;
}
