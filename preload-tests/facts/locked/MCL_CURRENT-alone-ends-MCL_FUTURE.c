// mlockall(MCL_CURRENT) after MCL_FUTURE turns MCL_FUTURE off: threads and blocks made from then on
// are not locked, and new stacks not populated. MCL_FUTURE alone turns it on again, and munlockall off for good.
#include "stay.h"
static size_t stack = 20 << 20;
static void expect(int locked, const char *when) {
  // Growing sizes, so that no cached stack serves.
  stack += 4 << 20;
  pthread_attr_t a = attr_of(stack, 4096);
  long lck = status_kb("VmLck"), rss = status_kb("VmRSS"), kb = (long)(stack >> 10);
  pthread_t t = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  lck = status_kb("VmLck") - lck;
  rss = status_kb("VmRSS") - rss;
  if (locked)
    CHECK(lck >= kb - 64 && rss >= kb - 64, "%s: VmLck +%ld kB, VmRSS +%ld kB for a stack of %ld kB", when, lck, rss, kb);
  else
    CHECK(lck <= 64 && rss <= 512, "%s: VmLck +%ld kB, VmRSS +%ld kB", when, lck, rss);
  pthread_barrier_wait(&out);
  finish(t);

  // Its memory may have been mapped, and locked, before: so it is looked at, not its growth.
  char *p = malloc(stack);
  CHECK(p, "malloc");
  struct vma v = vma_at((uintptr_t)p + stack / 2);
  CHECK(v.hi && vma_has(&v, "lo") == locked, "%s: a block's flags are%s", when, v.flags);
  uintptr_t first = ((uintptr_t)p + 4095) & ~4095UL;
  size_t pages = stack / 4096 - 1;
  long in = resident_pages(first, pages * 4096);
  if (locked) CHECK(in == (long)pages, "%s: %ld of %zu pages of a block are in memory", when, in, pages);
  free(p);
}
int main(void) {
  pthread_barrier_init(&in, 0, 2);
  pthread_barrier_init(&out, 0, 2);
  expect(0, "at the start");
  lock_all(MCL_CURRENT | MCL_FUTURE);
  expect(1, "after MCL_CURRENT and MCL_FUTURE");
  lock_all(MCL_CURRENT);
  expect(0, "after MCL_CURRENT alone");
  lock_all(MCL_FUTURE);
  expect(1, "after MCL_FUTURE alone");
  CHECK(!munlockall(), "munlockall");
  CHECK(status_kb("VmLck") == 0, "VmLck is %ld kB after munlockall", status_kb("VmLck"));
  expect(0, "after munlockall");
  // Past any wrapper of mlockall.
  CHECK(!syscall(SYS_mlockall, MCL_CURRENT | MCL_FUTURE), "raw mlockall");
  expect(1, "after a raw system call");
  CHECK(!syscall(SYS_munlockall), "raw munlockall");
  expect(0, "after a raw munlockall");
  return 0;
}
