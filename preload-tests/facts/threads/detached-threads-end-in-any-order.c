// Detached threads, created so, detached by others or by themselves, end in any order while new
// ones start on their stacks: no thread ever finds its stack changed, and all memory comes back.
// env: MALLOC_ARENA_MAX=1
#include "check.h"
enum { N = 3000, LIVE = 24 };
static volatile int live, ended;
static void *body(void *arg) {
  unsigned s = (unsigned)(long)arg * 747796405u + 1;
  volatile unsigned mine[600];
  for (unsigned i = 0; i < 600; i++) mine[i] = s + i;
  if ((long)arg % 3 == 0) CHECK(!pthread_detach(pthread_self()), "self detach");
  unsigned k = s, ms = rnd(&k) % 4;
  if (ms == 3)
    nap_ms((int)(rnd(&k) % 4));
  else
    for (unsigned i = 0; i < ms * 3000; i++) __asm__ volatile("");
  void *p = malloc(1 + rnd(&k) % 3000);
  CHECK(p, "malloc");
  for (unsigned i = 0; i < 600; i++) CHECK(mine[i] == s + i, "the stack of a running thread changed");
  free(p);
  __atomic_fetch_sub(&live, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
  if ((long)arg % 5 == 0) pthread_exit(0);
  return 0;
}
int main(void) {
  long size = 0, rss = 0;
  int maps = 0;
  for (long i = 0; i < N; i++) {
    while (__atomic_load_n(&live, __ATOMIC_SEQ_CST) >= LIVE) sched_yield();
    __atomic_fetch_add(&live, 1, __ATOMIC_SEQ_CST);
    pthread_attr_t a = attr_of((64 << 10) << i % 4, i % 7 ? 4096 : 65536);
    if (i % 3 == 1) pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    pthread_t t = start(&a, body, (void *)i);
    if (i % 3 == 2) CHECK(!pthread_detach(t), "detach");
    if (i == 800) {
      size = status_kb("VmSize");
      rss = status_kb("VmRSS");
      maps = count_maps();
    }
  }
  CHECK(SETTLES(5000, ended == N && count_tasks() == 1), "%d of %d ended", ended, N);
  size = status_kb("VmSize") - size;
  rss = status_kb("VmRSS") - rss;
  maps = count_maps() - maps;
  CHECK(size < 80 << 10 && rss < 8 << 10 && maps < 120, "left: %ld kB of address space, %ld kB resident, %d mappings",
        size, rss, maps);
  return 0;
}
