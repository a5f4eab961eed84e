// mlockall called when threads already run: their stacks are then locked and in memory, their
// guards are neither in memory nor, here alone, locked.
// variant: -DGUARD_MAY_BE_LOCKED
// variant (bare fails):
// fails-with: its guard is locked
#include "check.h"
enum { N = 8 };
static const size_t STACK = 1 << 20, GUARD = 4 << 20;
static pthread_barrier_t in, out;
static volatile long first_faults[N];
static void *stay(void *arg) {
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  volatile char *p = __builtin_alloca(700 << 10);
  long before = faults(RUSAGE_THREAD);
  for (size_t i = 0; i < 700 << 10; i += 4096) p[(700 << 10) - 1 - i] = 1;
  first_faults[(long)arg] = faults(RUSAGE_THREAD) - before;
  return arg;
}
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t a = attr_of(STACK, GUARD);
  for (long i = 0; i < N; i++) t[i] = start(&a, stay, (void *)i);
  pthread_barrier_wait(&in);
  lock_all(MCL_CURRENT | MCL_FUTURE);
  for (int i = 0; i < N; i++) {
    struct stack s = stack_of(t[i]);
    CHECK(resident_pages(s.lo, s.size) == (long)(STACK / 4096), "thread %d: %ld pages of its stack are in memory", i,
          resident_pages(s.lo, s.size));
    CHECK(resident_pages(s.lo - s.guard, s.guard) == 0, "thread %d: its guard is in memory", i);
    struct vma v = vma_at(s.lo), g = vma_at(s.lo - 1);
    CHECK(vma_has(&v, "lo"), "thread %d: its stack is not locked", i);
    CHECK(g.hi && !strncmp(g.perm, "---", 3), "thread %d: no guard", i);
#ifndef GUARD_MAY_BE_LOCKED
    CHECK(!vma_has(&g, "lo"), "thread %d: its guard is locked", i);
#endif
  }
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) {
    finish(t[i]);
    CHECK(first_faults[i] <= 2, "thread %d took %ld page faults on its locked stack", i, first_faults[i]);
  }
  return 0;
}
