// In a locked process, threads that ask for a small stack and a very large guard take memory for
// the stack alone: no page of a guard is ever populated.
#include "check.h"
enum { N = 12 };
static const size_t STACK = 256 << 10, GUARD = 16 << 20;
static pthread_barrier_t in, out;
static uintptr_t low[N];

static void *stay(void *arg) {
  low[(long)arg] = stack_of(pthread_self()).lo;
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  return 0;
}

int main(void) {
  pthread_t t[N];
  lock_all(MCL_CURRENT | MCL_FUTURE);
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t a = attr_of(STACK, GUARD);
  long rss = status_kb("VmRSS"), lck = status_kb("VmLck");
  for (long i = 0; i < N; i++) t[i] = start(&a, stay, (void *)i);
  pthread_barrier_wait(&in);
  rss = status_kb("VmRSS") - rss;
  lck = status_kb("VmLck") - lck;
  for (int i = 0; i < N; i++) {
    long g = resident_pages(low[i] - GUARD, GUARD), s = resident_pages(low[i], STACK);
    CHECK(g == 0, "thread %d: %ld guard pages are resident", i, g);
    CHECK(s == (long)(STACK / 4096), "thread %d: %ld of its stack's pages are resident", i, s);
  }
  long limit = N * (long)((STACK + (4 << 20)) >> 10);
  CHECK(rss <= limit, "VmRSS grew %ld kB, more than %ld kB", rss, limit);
  INFO("VmRSS +%ld kB, VmLck +%ld kB for %d threads of %zu kB and a guard of %zu kB", rss, lck, N,
       STACK >> 10, GUARD >> 10);
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  return 0;
}
