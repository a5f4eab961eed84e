// With LIBFIX_LOCK=onfault the program's own mlockall locks what is there and what is to come, but
// populates nothing: stacks and blocks take the pages that they use, and these stay.
// bare: expect-fail the setting is the library's
// fails-with: are in memory
// env: LIBFIX_LOCK=onfault
#include "stay.h"
int main(void) {
  pthread_barrier_init(&in, 0, 2);
  pthread_barrier_init(&out, 0, 2);
  lock_all(MCL_CURRENT | MCL_FUTURE);
  pthread_attr_t a = attr_of(8 << 20, 4096);
  for (int round = 0; round < 3; round++) {
    pthread_t t = start(&a, stay, 0);
    pthread_barrier_wait(&in);
    struct stack s = stack_of(t);
    struct vma own = vma_at(s.lo);
    long pages = resident_pages(s.lo, s.size);
    CHECK(pages < 16, "%ld pages of a stack are in memory", pages);
    CHECK(vma_has(&own, "lo"), "a stack is not locked: %s", own.flags);
    pthread_barrier_wait(&out);
    finish(t);
  }
  size_t len = 64 << 20;
  char *p = malloc(len);
  CHECK(p, "malloc");
  struct vma v = vma_at((uintptr_t)p + len / 2);
  uintptr_t first = ((uintptr_t)p + 4095) & ~4095UL;
  long pages = resident_pages(first, len - 4096);
  CHECK(vma_has(&v, "lo"), "a block is not locked: %s", v.flags);
  CHECK(pages < 64, "%ld pages of a block are in memory", pages);
  errno = 0;
  CHECK(mlockall(0) && errno == EINVAL, "mlockall(0): errno %d", errno);
  CHECK(mlockall(MCL_ONFAULT) && errno == EINVAL, "mlockall(MCL_ONFAULT): errno %d", errno);
  return 0;
}
