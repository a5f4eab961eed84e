// pthread_detach at the very moment a thread ends, 10,000 times: it always returns 0, every thread
// has run to its end on a stack nobody else wrote to, and nothing is left.
// env: MALLOC_ARENA_MAX=1
#include "check.h"
static volatile long ended;
static void *work(void *arg) {
  volatile unsigned char b[1500];
  unsigned seed = (unsigned)(long)arg * 2654435761u | 1, spin = rnd(&seed) % 60;
  for (size_t i = 0; i < sizeof b; i++) b[i] = (unsigned char)(seed + i);
  for (unsigned i = 0; i < spin * 30; i++) __asm__ volatile("");
  for (size_t i = 0; i < sizeof b; i++)
    CHECK(b[i] == (unsigned char)(seed + i), "the stack changed under a running thread");
  __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
  return 0;
}
int main(void) {
  enum { N = 10000 };
  pthread_attr_t a = attr_of(64 << 10, 4096);
  unsigned s = 4711;
  long size = 0, rss = 0;
  int maps = 0;
  for (long i = 0; i < N; i++) {
    pthread_t t = start(&a, work, (void *)i);
    for (unsigned k = rnd(&s) % 3000; k; k--) __asm__ volatile("");
    if (i % 4 == 0) sched_yield();
    if (i % 64 == 0) nap_ms(1);
    int e = pthread_detach(t);
    CHECK(!e, "detach %ld: %s", i, strerror(e));
    if (i == 500) {
      CHECK(SETTLES(5000, ended == i + 1 && count_tasks() == 1), "threads do not end");
      size = status_kb("VmSize");
      rss = status_kb("VmRSS");
      maps = count_maps();
    }
  }
  CHECK(SETTLES(5000, ended == N && count_tasks() == 1), "%ld of %d threads ended, %d tasks", ended, N, count_tasks());
  size = status_kb("VmSize") - size;
  rss = status_kb("VmRSS") - rss;
  maps = count_maps() - maps;
  // On a busy machine hundreds may live at once, whose stacks are then kept, up to 40 MiB of them.
  CHECK(size < 48 << 10 && rss < 12 << 10 && maps < 1400, "left: %ld kB of address space, %ld kB resident, %d mappings",
        size, rss, maps);
  return 0;
}
