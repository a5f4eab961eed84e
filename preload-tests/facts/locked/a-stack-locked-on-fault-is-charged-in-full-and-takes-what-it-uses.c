// With LIBFIX_STACK_LOCK=onfault a stack in a locked process is locked and charged, without its
// guard, and takes the pages that it uses, while the heap is populated as before. A later mlockall
// leaves new stacks so.
// bare: expect-fail libc populates whole stacks
// fails-with: are in memory
// env: LIBFIX_STACK_LOCK=onfault
#include "stay.h"
enum { N = 8, KB = 4 << 10 };
static void batch(long lck_most) {
  pthread_t t[N];
  pthread_attr_t a = attr_of((size_t)KB << 10, 1 << 20);
  long lck = status_kb("VmLck");
  for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  lck = status_kb("VmLck") - lck;
  for (int i = 0; i < N; i++) {
    struct stack s = stack_of(t[i]);
    struct vma own = vma_at(s.lo), guard = vma_at(s.lo - 1);
    long pages = resident_pages(s.lo, s.size);
    CHECK(pages < 16, "%ld pages of a stack are in memory", pages);
    CHECK(vma_has(&own, "lo") && !vma_has(&guard, "lo"), "flags: %s, guard %s", own.flags, guard.flags);
  }
  CHECK(lck <= lck_most, "%d threads added %ld kB to VmLck", N, lck);
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
}
int main(void) {
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  for (int round = 0; round < 2; round++) {
    lock_all(MCL_CURRENT | MCL_FUTURE);
    batch(N * KB + 64);
    // Nothing is charged anew for stacks that serve again.
    batch(0);
    char *p = malloc(1 << 20);
    CHECK(p, "malloc");
    long pages = resident_pages(((uintptr_t)p + 4095) & ~4095UL, 1 << 19);
    CHECK(pages == 128, "%ld of 128 pages of a block are in memory", pages);
    free(p);
  }
  return 0;
}
