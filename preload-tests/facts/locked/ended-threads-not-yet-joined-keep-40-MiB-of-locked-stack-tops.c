// With LIBFIX_STACK_LOCK=256K, 400 threads that used 1 MiB each, ended and were not joined keep
// 40 MiB of the tops of their stacks in memory and of the others, and of what is not locked, a few
// pages each. The next threads find the tops of their stacks in memory.
// variant: -DBY_EXIT=0
// variant: -DBY_EXIT=1
// bare: expect-fail libc locks whole stacks and keeps them until they are joined
// fails-with: stay resident
// env: LIBFIX_STACK_LOCK=256K
#include "stay.h"
enum { N = 400, STACK = 1088 << 10, TOP = 256 << 10, FEW_KB = 36 };
static void *deep(void *arg) {
  enum { BYTES = 1 << 20 };
  volatile char *p = __builtin_alloca(BYTES);
  for (size_t i = 0; i < BYTES; i += 4096) p[BYTES - 1 - i] = 1;
  if (BY_EXIT) pthread_exit((char *)arg + 1);
  return (char *)arg + 1;
}
static void *nothing(void *arg) { return arg; }
int main(void) {
  lock_all(MCL_CURRENT | MCL_FUTURE);
  pthread_barrier_init(&in, 0, 2);
  pthread_barrier_init(&out, 0, 2);
  pthread_attr_t a = attr_of(STACK, 4096), small = attr_of(64 << 10, 4096);
  finish(start(&a, nothing, 0));
  long rss = status_kb("VmRSS");
  static pthread_t t[N];
  for (uintptr_t i = 0; i < N; i++) t[i] = start(&a, deep, (void *)i);
  CHECK(SETTLES(5000, count_tasks() == 1), "threads do not end");
  for (int i = 0; i < N; i++) finish(start(&small, nothing, 0));
  rss = status_kb("VmRSS") - rss;
  CHECK(rss < (42 << 10) + N * FEW_KB, "%ld kB stay resident for %d ended threads", rss, N);
  for (int i = 0; i < 3; i++) {
    pthread_t next = start(&a, stay, 0);
    pthread_barrier_wait(&in);
    struct stack s = stack_of(next);
    long pages = resident_pages(s.hi - TOP, TOP);
    CHECK(pages == TOP / 4096, "%ld pages of the next thread's top are in memory", pages);
    pthread_barrier_wait(&out);
    finish(next);
  }
  for (uintptr_t i = 0; i < N; i++) CHECK(finish(t[i]) == (void *)(i + 1), "thread %d: another value", (int)i);
  return 0;
}
