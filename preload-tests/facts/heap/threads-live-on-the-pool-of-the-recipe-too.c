// The real-time recipe of a program with threads: one arena asked for, memory kept, pool locked,
// touched and freed by main; threads that start afterwards allocate from it without page faults.
#include "check.h"
#include <malloc.h>
enum { POOL = 24 << 20, N = 3 };
static pthread_barrier_t in, out;
static long taken[N];
static void *work(void *arg) {
  unsigned s = (unsigned)(long)arg + 77;
  static __thread char *q[60];
  void *warm = malloc(100);
  pthread_barrier_wait(&in);
  long before = faults(RUSAGE_THREAD);
  for (int i = 0; i < 5000; i++) {
    unsigned k = rnd(&s) % 60;
    free(q[k]);
    size_t n = 1 + rnd(&s) % (rnd(&s) % 4 ? 1000 : 40000);
    q[k] = malloc(n);
    CHECK(q[k], "malloc");
    memset(q[k], 1, n);
  }
  taken[(long)arg] = faults(RUSAGE_THREAD) - before;
  for (int k = 0; k < 60; k++) free(q[k]);
  free(warm);
  pthread_barrier_wait(&out);
  return arg;
}
int main(void) {
  pthread_t t[N];
  CHECK(mallopt(M_TRIM_THRESHOLD, -1) == 1 && mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_ARENA_MAX, 1) == 1, "mallopt");
  lock_all(MCL_CURRENT | MCL_FUTURE);
  char *p = malloc(POOL);
  CHECK(p, "pool");
  for (size_t k = 0; k < POOL; k += 4096) p[k] = 1;
  free(p);
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t a = attr_of(128 << 10, 4096);
  for (long i = 0; i < N; i++) t[i] = start(&a, work, (void *)i);
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) {
    finish(t[i]);
    CHECK(taken[i] <= 4, "thread %d took %ld page faults", i, taken[i]);
  }
  return 0;
}
