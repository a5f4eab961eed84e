// In an unlocked process a stack takes the pages it uses: 100 idle threads with stacks of 8 MiB
// and guards of 1 MiB take a few pages each.
#include "stay.h"
enum { N = 100 };
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t a = attr_of(8 << 20, 1 << 20);
  long rss = status_kb("VmRSS"), lck = status_kb("VmLck");
  for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  rss = status_kb("VmRSS") - rss;
  CHECK(rss < N * 40, "%d idle threads took %ld kB", N, rss);
  CHECK(status_kb("VmLck") == lck, "memory of an unlocked process was locked");
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  return 0;
}
