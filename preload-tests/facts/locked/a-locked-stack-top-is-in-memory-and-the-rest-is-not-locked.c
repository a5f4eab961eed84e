// With LIBFIX_STACK_LOCK=64K the upper 64 KiB of a stack are locked and in memory, in reused stacks
// too; what is below is not locked, takes no memory until it is used, and gives it back when the
// thread ends. A later mlockall, and MCL_CURRENT alone, leave it so.
// bare: expect-fail libc locks whole stacks
// fails-with: kB to VmLck
// env: LIBFIX_STACK_LOCK=64K
#include "stay.h"
enum { N = 8, KB = 2 << 10, TOP = 64 << 10, USED = 1 << 20, MOST_KB = N * TOP / 1024 + 64 };
static pthread_t t[N];
static void *use(void *deep) {
  if (deep) {
    volatile char *p = __builtin_alloca(USED);
    for (size_t i = 0; i < USED; i += 4096) p[USED - 1 - i] = 1;
  }
  return stay(0);
}
static void locked_at_the_top(const char *when) {
  for (int i = 0; i < N; i++) {
    struct stack s = stack_of(t[i]);
    struct vma top = vma_at(s.hi - TOP), rest = vma_at(s.hi - TOP - 1), guard = vma_at(s.lo - 1);
    CHECK(vma_has(&top, "lo"), "%s: the top is not locked", when);
    CHECK(!vma_has(&rest, "lo") && !vma_has(&guard, "lo"), "%s: rest %s, guard %s", when, rest.flags, guard.flags);
  }
}
static void begin(int deep, long most_kb, const char *when) {
  pthread_attr_t a = attr_of((size_t)KB << 10, 4096);
  long lck = status_kb("VmLck");
  for (int i = 0; i < N; i++) t[i] = start(&a, use, deep ? &t : 0);
  pthread_barrier_wait(&in);
  lck = status_kb("VmLck") - lck;
  CHECK(lck <= most_kb, "%s: %d threads added %ld kB to VmLck", when, N, lck);
  for (int i = 0; i < N; i++) {
    struct stack s = stack_of(t[i]);
    long pages = resident_pages(s.hi - TOP, TOP);
    CHECK(pages == TOP / 4096, "%s: %ld pages of the top are in memory", when, pages);
    pages = resident_pages(s.lo, s.size - TOP);
    CHECK(deep ? pages >= (USED - TOP) / 4096 : !pages, "%s: %ld pages of the rest are in memory", when, pages);
  }
  locked_at_the_top(when);
}
static void end(void) {
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
}
int main(void) {
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  lock_all(MCL_CURRENT | MCL_FUTURE);
  begin(0, MOST_KB, "at first");
  end();
  // The same stacks: used in depth, and found empty again by the next.
  begin(1, 0, "used in depth");
  end();
  begin(0, 0, "after that");
  lock_all(MCL_CURRENT | MCL_FUTURE);
  locked_at_the_top("after mlockall again");
  end();
  begin(0, MOST_KB, "after mlockall again");
  lock_all(MCL_CURRENT);
  locked_at_the_top("after MCL_CURRENT alone");
  end();
  CHECK(!munlockall(), "munlockall");
  CHECK(status_kb("VmLck") == 0, "VmLck is %ld kB after munlockall", status_kb("VmLck"));
  return 0;
}
