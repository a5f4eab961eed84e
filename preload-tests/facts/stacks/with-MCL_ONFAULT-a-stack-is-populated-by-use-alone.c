// A program that asks for MCL_ONFAULT gets stacks that are locked page by page as it uses them,
// not populated when the thread starts.
#include "check.h"
#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif
enum { N = 8 };
static pthread_barrier_t in, out;
static void *idle(void *arg) {
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  return arg;
}

int main(void) {
  pthread_t t[N];
  lock_all(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
  pthread_attr_t a = attr_of(24 << 20, 4096);
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  long rss = status_kb("VmRSS");
  for (int i = 0; i < N; i++) t[i] = start(&a, idle, 0);
  pthread_barrier_wait(&in);
  rss = status_kb("VmRSS") - rss;
  CHECK(rss < 8 << 10, "%d idle threads took %ld kB", N, rss);
  for (int i = 0; i < N; i++) {
    struct vma v = vma_at(stack_of(t[i]).hi - 4096);
    CHECK(vma_has(&v, "lo") && v.lck_kb > 0, "the used part of stack %d is not locked: flags%s, %ld kB", i, v.flags,
          v.lck_kb);
  }
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  return 0;
}
