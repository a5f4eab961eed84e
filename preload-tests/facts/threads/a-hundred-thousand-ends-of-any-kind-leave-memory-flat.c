// A hundred thousand threads, ended in every way there is and using the heap, leave VmRSS, VmSize
// and the number of mappings where they were, for each way on its own.
// timeout: 60
// env: MALLOC_ARENA_MAX=1
#include "check.h"
#include <threads.h>
static volatile long detached_ended;
static void touch_heap(void) {
  char *p = malloc(700);
  CHECK(p, "malloc");
  memset(p, 1, 700);
  free(p);
}
static void *returns(void *arg) {
  touch_heap();
  return arg;
}
static void *exits(void *arg) {
  touch_heap();
  pthread_exit(arg);
}
static void *waits(void *arg) {
  touch_heap();
  pause();
  return arg;
}
static void *counts(void *arg) {
  touch_heap();
  __atomic_fetch_add(&detached_ended, 1, __ATOMIC_SEQ_CST);
  return arg;
}
static int c11(void *arg) {
  touch_heap();
  return *(int *)arg;
}
static long detached_started;
static void one(int way, pthread_attr_t *small) {
  pthread_t t;
  void *r = 0;
  int e, n = 5;
  struct timespec d;
  switch (way) {
    case 0: CHECK(finish(start(0, returns, &n)) == &n, "join"); break;
    case 1: CHECK(finish(start(small, exits, &n)) == &n, "join after pthread_exit"); break;
    case 2:
      t = start(small, waits, 0);
      CHECK(!pthread_cancel(t) && finish(t) == PTHREAD_CANCELED, "cancel");
      break;
    case 3:
      t = start(0, returns, &n);
      clock_gettime(CLOCK_REALTIME, &d);
      d.tv_sec += 20;
      CHECK(!pthread_timedjoin_np(t, &r, &d) && r == &n, "timedjoin");
      break;
    case 4:
      t = start(small, returns, &n);
      while ((e = pthread_tryjoin_np(t, &r)) == EBUSY) sched_yield();
      CHECK(!e && r == &n, "tryjoin");
      break;
    case 5: {
      thrd_t h;
      CHECK(thrd_create(&h, c11, &n) == thrd_success && thrd_join(h, &e) == thrd_success && e == 5, "C11");
      break;
    }
    case 6:
      t = start(small, counts, 0);
      detached_started++;
      CHECK(!pthread_detach(t), "detach before the end");
      while (detached_started - detached_ended > 20) sched_yield();
      break;
    case 7:
      t = start(small, counts, 0);
      detached_started++;
      while (detached_ended < detached_started) sched_yield();
      CHECK(!pthread_detach(t), "detach after the end");
      break;
  }
}
int main(void) {
  enum { WAYS = 8, EACH = 100000 / WAYS };
  pthread_attr_t small = attr_of(80 << 10, 4096);
  for (int way = 0; way < WAYS; way++)
    for (int i = 0; i < 100; i++) one(way, &small);
  for (int way = 0; way < WAYS; way++) {
    CHECK(SETTLES(3000, detached_ended == detached_started && count_tasks() == 1), "threads do not end");
    long size = status_kb("VmSize"), rss = status_kb("VmRSS");
    int maps = count_maps();
    for (int i = 0; i < EACH; i++) one(way, &small);
    CHECK(SETTLES(3000, detached_ended == detached_started && count_tasks() == 1), "threads do not end");
    size = status_kb("VmSize") - size;
    rss = status_kb("VmRSS") - rss;
    maps = count_maps() - maps;
    // One stack lost in nine threads would be more than 100 MiB, even of the small ones; up to
    // twenty detached threads live at once, whose stacks may be new.
    CHECK(size < 100 << 10 && rss < 2 << 10 && maps < 60, "way %d left %ld kB of address space, %ld kB resident, %d mappings",
          way, size, rss, maps);
  }
  return 0;
}
