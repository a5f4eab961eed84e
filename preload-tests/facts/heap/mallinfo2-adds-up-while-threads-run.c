// env: MALLOC_ARENA_MAX=1
// What mallinfo2 says of a heap in use is never more than there is.
#include "check.h"
#include <malloc.h>
enum { THREADS = 4, LIVE = 500 };
static volatile int over;
static void *work(void *arg) {
  void *live[LIVE] = { 0 };
  unsigned seed = (unsigned)(uintptr_t)arg + 1;
  while (!over) {
    unsigned k = rnd(&seed) % LIVE;
    free(live[k]);
    CHECK(live[k] = malloc(1 + rnd(&seed) % 30000), "malloc");
  }
  for (int i = 0; i < LIVE; i++) free(live[i]);
  return NULL;
}
int main(void) {
  pthread_t t[THREADS];
  for (long i = 0; i < THREADS; i++) t[i] = start(0, work, (void *)i);
  size_t most = 2ul * THREADS * LIVE * 40000;
  for (double until = now_s() + 1; now_s() < until;) {
    struct mallinfo2 m = mallinfo2();
    CHECK(m.uordblks <= most && m.fordblks <= most && m.arena <= most, "in use %zu, free %zu, of %zu", m.uordblks,
          m.fordblks, m.arena);
  }
  over = 1;
  for (int i = 0; i < THREADS; i++) finish(t[i]);
  return 0;
}
