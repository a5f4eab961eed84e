// Sixteen locked threads with 8 kB of heap each: beyond their stacks, VmLck and VmRSS grow by what
// heaps of that size need, not by a reserve for each thread.
// bare: expect-fail an arena's 64 MiB are charged for each thread
// fails-with: VmLck grew
#include "check.h"
enum { N = 16 };
static const size_t STACK = 64 << 10;
static pthread_barrier_t in, out;
static void *stay(void *arg) {
  void *p[8];
  for (int i = 0; i < 8; i++) {
    p[i] = malloc(1000);
    CHECK(p[i], "malloc");
  }
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  for (int i = 0; i < 8; i++) free(p[i]);
  return arg;
}
int main(void) {
  pthread_t t[N];
  lock_all(MCL_CURRENT | MCL_FUTURE);
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t a = attr_of(STACK, 4096);
  long lck = status_kb("VmLck"), rss = status_kb("VmRSS");
  for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  lck = status_kb("VmLck") - lck - N * (long)(STACK >> 10);
  rss = status_kb("VmRSS") - rss - N * (long)(STACK >> 10);
  INFO("beyond the stacks: VmLck +%ld kB, VmRSS +%ld kB", lck, rss);
  CHECK(rss < 5 << 10, "VmRSS grew %ld kB beyond the stacks", rss);
  CHECK(lck < 5 << 10, "VmLck grew %ld kB beyond the stacks", lck);
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  return 0;
}
