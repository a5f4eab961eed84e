// A program that calls mlockall a second time, with threads running and ended ones behind it, gets
// 0, and neither memory nor locked memory grows: reserves of a library are not populated.
#include "check.h"
enum { N = 8 };
static pthread_barrier_t in, out;
static void *stay(void *arg) {
  void *p = malloc(100);
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  free(p);
  return arg;
}
static void *quick(void *arg) { return arg; }
int main(void) {
  pthread_t t[N];
  lock_all(MCL_CURRENT | MCL_FUTURE);
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  for (int i = 0; i < 20; i++) {
    pthread_attr_t b = attr_of((64 << 10) << i % 5, 4096);
    finish(start(&b, quick, 0));
  }
  pthread_attr_t a = attr_of(256 << 10, 2 << 20);
  for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  for (int k = 0; k < 3; k++) {
    long lck = status_kb("VmLck"), rss = status_kb("VmRSS");
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall %d: %s", k, strerror(errno));
    long l = status_kb("VmLck") - lck, r = status_kb("VmRSS") - rss;
    CHECK(l < 1024, "VmLck grew %ld kB", l);
    CHECK(r < 1024, "VmRSS grew %ld kB", r);
    for (int i = 0; i < N; i++) {
      struct stack s = stack_of(t[i]);
      CHECK(resident_pages(s.lo - s.guard, s.guard) == 0, "a guard is in memory");
      CHECK(resident_pages(s.lo, s.size) == (long)(s.size / 4096), "a stack is not");
    }
    finish(start(&a, quick, 0));
  }
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  return 0;
}
