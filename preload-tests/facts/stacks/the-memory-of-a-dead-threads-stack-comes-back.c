// What threads touched of their stacks is given back when they have ended, joined or detached: of
// 240 MB no more than 3 stay, however often it happens.
#include "check.h"
enum { N = 40 };
static volatile int done;
static void *deep(void *arg) {
  enum { BYTES = 6 << 20 };
  volatile char *p = __builtin_alloca(BYTES);
  for (size_t i = 0; i < BYTES; i += 4096) p[BYTES - 1 - i] = 1;
  __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
  return arg;
}
int main(void) {
  pthread_attr_t a = attr_of(8 << 20, 4096);
  long rss0 = status_kb("VmRSS");
  for (int round = 0; round < 6; round++) {
    pthread_t t[N];
    for (int i = 0; i < N; i++) t[i] = start(&a, deep, 0);
    for (int i = 0; i < N; i++)
      if (round % 2)
        finish(t[i]);
      else
        CHECK(!pthread_detach(t[i]), "detach");
    CHECK(SETTLES(5000, done == N * (round + 1) && count_tasks() == 1), "threads do not end");
    CHECK(SETTLES(1000, status_kb("VmRSS") - rss0 < 3 << 10), "round %d: %ld kB more are resident after all ended",
          round, status_kb("VmRSS") - rss0);
  }
  return 0;
}
