// A guard is not charged as memory that the system must be able to provide: neither its mapping
// is accountable, nor does Committed_AS grow by it.
#include "stay.h"
enum { N = 48 };
static const size_t STACK = 64 << 10, GUARD = 32 << 20;
int main(void) {
  pthread_t t[N];
  long grew = LONG_MAX;
  // The number is the whole system's: the smallest of a few is nearest to ours.
  for (int round = 0; round < 3; round++) {
    pthread_barrier_init(&in, 0, N + 1);
    pthread_barrier_init(&out, 0, N + 1);
    pthread_attr_t a = attr_of(STACK, GUARD);
    long before = meminfo_kb("Committed_AS");
    for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
    pthread_barrier_wait(&in);
    long after = meminfo_kb("Committed_AS");
    if (after - before < grew) grew = after - before;
    for (int i = 0; i < N; i++) {
      struct stack s = stack_of(t[i]);
      CHECK(s.guard == GUARD, "guard %zu", s.guard);
      struct vma v = vma_at(s.lo - 1), w = vma_at(s.lo - GUARD), stack = vma_at(s.lo);
      CHECK(v.hi && !vma_has(&v, "ac") && w.hi && !vma_has(&w, "ac"), "the guard is accounted:%s", v.flags);
      CHECK(stack.hi && vma_has(&stack, "ac"), "the stack is not accounted:%s, this tells nothing", stack.flags);
    }
    pthread_barrier_wait(&out);
    for (int i = 0; i < N; i++) finish(t[i]);
  }
  long all = N * (long)(GUARD >> 10);
  CHECK(grew < all / 3, "Committed_AS grew %ld kB by %d threads of %zu kB with guards of %zu kB", grew, N, STACK >> 10,
        GUARD >> 10);
  INFO("Committed_AS +%ld kB for %ld kB of guards", grew, all);
  return 0;
}
