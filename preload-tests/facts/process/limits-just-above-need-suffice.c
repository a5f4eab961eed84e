// Threads and heap work when address space, data size, locked memory, processes or descriptors are
// limited to a little more than what the program itself uses; a thread over the limit is EAGAIN and
// leaves nothing.
// variant: -DWHAT=1
// variant: -DWHAT=2
// variant: -DWHAT=3
// variant: -DWHAT=4
// variant: -DWHAT=5
#include "check.h"
enum { N = 4, STACK = 256 << 10 };
static pthread_barrier_t in, out;
static void *work(void *arg) {
  char *p = malloc(20000);
  CHECK(p, "malloc in a thread");
  memset(p, 1, 20000);
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  free(p);
  return arg;
}
static void rounds(int n, int one_more) {
  pthread_attr_t a = attr_of(STACK, 4096);
  for (int r = 0; r < n; r++) {
    pthread_t t[N], over;
    pthread_barrier_init(&in, 0, N + 1);
    pthread_barrier_init(&out, 0, N + 1);
    for (int i = 0; i < N; i++) {
      // A joined thread counts as a process a moment longer.
      int e = 0;
      CHECK(SETTLES(2000, (e = pthread_create(&t[i], &a, work, 0)) != EAGAIN), "round %d, thread %d: EAGAIN", r, i);
      CHECK(!e, "round %d, thread %d: %s", r, i, strerror(e));
    }
    pthread_barrier_wait(&in);
    if (one_more) {
      int e = pthread_create(&over, &a, work, 0);
      CHECK(e == EAGAIN, "a thread over the limit: %d", e);
    }
    pthread_barrier_wait(&out);
    for (int i = 0; i < N; i++) finish(t[i]);
    char *p = malloc(100 << 10);
    CHECK(p, "malloc in main");
    memset(p, 1, 100 << 10);
    free(p);
  }
}
int main(void) {
  const size_t need = N * (STACK + 4096) + (1536 << 10);
  switch (WHAT) {
    case 1:
      set_limit(RLIMIT_AS, ((size_t)status_kb("VmSize") << 10) + need);
      rounds(60, 0);
      break;
    case 2:
      set_limit(RLIMIT_DATA, ((size_t)status_kb("VmData") << 10) + need);
      rounds(60, 0);
      break;
    case 3:
      set_limit(RLIMIT_MEMLOCK, ((size_t)status_kb("VmSize") << 10) + need);
      become_ordinary(65534);
      CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
      rounds(60, 0);
      break;
    case 4:
      // An id that no other process has, so that the limit counts ours alone.
      if (getuid()) SKIP("needs root, for a user of its own");
      set_limit(RLIMIT_NPROC, N + 1);
      become_ordinary(200000 + (uid_t)getpid());
      rounds(60, 1);
      break;
    case 5:
      set_limit(RLIMIT_NOFILE, 0);
      rounds(60, 0);
      break;
  }
  return 0;
}
