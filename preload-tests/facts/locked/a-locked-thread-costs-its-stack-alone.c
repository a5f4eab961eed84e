// In a locked process a thread raises VmLck and VmRSS by the accessible stack it asked for, and by
// nothing for its guard, whatever its size; the guard's mapping is not locked.
// variant: -DSTACK=(256<<10) -DGUARD=0
// variant: -DSTACK=(256<<10) -DGUARD=4096 -DGUARD_MAY_BE_LOCKED
// variant (bare fails): -DSTACK=(256<<10) -DGUARD=4096
// variant (bare fails): -DSTACK=(256<<10) -DGUARD=(1<<20)
// variant (bare fails): -DSTACK=(256<<10) -DGUARD=(16<<20)
// variant (bare fails): -DSTACK=(64<<10) -DGUARD=(1<<20)
// variant (bare fails): -DSTACK=(4<<20) -DGUARD=(1<<20)
// fails-with: VmLck counts
#include "stay.h"
enum { N = 16 };
int main(void) {
  pthread_t t[N];
  lock_all(MCL_CURRENT | MCL_FUTURE);
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t a = attr_of(STACK, GUARD);
  long lck = status_kb("VmLck"), rss = status_kb("VmRSS");
  for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  lck = status_kb("VmLck") - lck;
  rss = status_kb("VmRSS") - rss;
  // A thread needs a little more than its stack: a record, its descriptor's vector.
  long want = N * (long)(STACK >> 10), slack = N * 12 + 256;
  CHECK(lck >= want - 16 && lck <= want + slack, "VmLck counts more than stacks: +%ld kB for %ld kB", lck, want);
  CHECK(rss >= want - 256 && rss <= want + slack, "VmRSS grew %ld kB for %ld kB of stacks", rss, want);
  for (int i = 0; i < N; i++) {
    struct stack s = stack_of(t[i]);
    struct vma v = vma_at(s.lo), w = vma_at(s.hi - 1);
    CHECK(vma_has(&v, "lo") && vma_has(&w, "lo"), "the stack is not locked:%s", v.flags);
    CHECK(resident_pages(s.lo, STACK) == STACK / 4096, "the stack is not in memory");
    if (GUARD) {
      v = vma_at(s.lo - 1);
      CHECK(v.hi && !strncmp(v.perm, "---", 3), "no guard: '%s'", v.perm);
#ifndef GUARD_MAY_BE_LOCKED
      CHECK(!vma_has(&v, "lo"), "the guard is locked, so VmLck counts it:%s", v.flags);
#endif
    }
  }
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  INFO("VmLck +%ld kB, VmRSS +%ld kB for %ld kB of stacks", lck, rss, want);
  return 0;
}
