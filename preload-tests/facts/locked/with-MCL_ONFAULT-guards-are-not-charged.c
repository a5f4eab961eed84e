// mlockall with MCL_ONFAULT charges what may become resident: the stacks, not their guards.
// bare: expect-fail guards are charged in full
// fails-with: VmLck grew
#include "stay.h"
enum { N = 8 };
static const size_t STACK = 1 << 20, GUARD = 32 << 20;
int main(void) {
  pthread_t t[N];
  lock_all(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t a = attr_of(STACK, GUARD);
  long lck = status_kb("VmLck"), rss = status_kb("VmRSS");
  for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  lck = status_kb("VmLck") - lck;
  rss = status_kb("VmRSS") - rss;
  long want = N * (long)(STACK >> 10);
  CHECK(lck >= want - 16 && lck <= want + 512, "VmLck grew %ld kB for %ld kB of stacks", lck, want);
  CHECK(rss < 1024, "VmRSS grew %ld kB for idle threads", rss);
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  return 0;
}
