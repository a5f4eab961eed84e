// Bursts of joined and detached threads with mixed stack sizes leave address space, memory,
// mappings and kernel tasks as they were, unlocked and locked; 200 live threads take no more than
// three mappings each.
// env: MALLOC_ARENA_MAX=1
#include "check.h"
#include <semaphore.h>
static sem_t done;
static pthread_barrier_t bar;
static void *quick(void *arg) {
  volatile char b[3000];
  b[0] = 1;
  (void)b[0];
  return arg;
}
static void *detached(void *arg) {
  free(malloc(50));
  sem_post(&done);
  return arg;
}
static void *stay(void *arg) {
  pthread_barrier_wait(&bar);
  pthread_barrier_wait(&bar);
  return arg;
}
static void burst(int n, size_t stack) {
  pthread_t t[64];
  pthread_attr_t a = attr_of(stack, 4096);
  for (int i = 0; i < n; i++) t[i] = start(&a, quick, 0);
  for (int i = 0; i < n; i++) finish(t[i]);
  pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < n; i++) start(&a, detached, 0);
  for (int i = 0; i < n; i++)
    while (sem_wait(&done)) {
    }
  pthread_attr_destroy(&a);
}

int main(void) {
  enum { LIVE = 200 };
  static pthread_t t[LIVE];
  sem_init(&done, 0, 0);
  for (int i = 0; i < 5; i++) burst(16, 8 << 20);
  long size = status_kb("VmSize"), rss = status_kb("VmRSS");
  int maps = count_maps(), n = 0;
  for (int i = 0; i < 40; i++, n += 32) burst(16, (size_t)(1 + i % 8) << 20);
  nap_ms(100);
  size = status_kb("VmSize") - size;
  rss = status_kb("VmRSS") - rss;
  maps = count_maps() - maps;
  CHECK(size < 200 << 10, "address space grew %ld kB over %d threads", size, n);
  CHECK(rss < 16 << 10, "VmRSS grew %ld kB over %d threads", rss, n);
  CHECK(maps < 80, "%d more mappings", maps);

  pthread_attr_t a = attr_of(256 << 10, 4096);
  pthread_barrier_init(&bar, 0, LIVE + 1);
  maps = count_maps();
  for (int i = 0; i < LIVE; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&bar);
  maps = count_maps() - maps;
  pthread_barrier_wait(&bar);
  for (int i = 0; i < LIVE; i++) finish(t[i]);
  CHECK(maps <= 3 * LIVE, "%d mappings for %d live threads", maps, LIVE);

  if (has_cap(CAP_IPC_LOCK_)) {
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
    rss = status_kb("VmRSS");
    for (int i = 0; i < 6; i++) burst(16, 8 << 20);
    nap_ms(200);
    rss = status_kb("VmRSS") - rss;
    CHECK(rss < 64 << 10, "%ld kB stay resident after all locked threads ended", rss);
    INFO("locked churn keeps %ld kB resident", rss);
    munlockall();
  }
  CHECK(SETTLES(2000, count_tasks() == 1), "%d kernel tasks 2 s after the last thread ended", count_tasks());
  return 0;
}
