// The threads of C11: results are ints, negative ones too; thrd_exit, thrd_detach, thrd_current,
// call_once, tss destructors, mutexes; their memory comes back as that of other threads.
// env: MALLOC_ARENA_MAX=1
#include "check.h"
#include <threads.h>
static tss_t key;
static int destroyed;
static once_flag once = ONCE_FLAG_INIT;
static int onces;
static volatile int ended;
static thread_local int mine = 5;
static mtx_t mu;
static long total;
static void on_key(void *p) {
  __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
  free(p);
}
static void count_once(void) { onces++; }
static int body(void *v) {
  int n = *(int *)v;
  CHECK(mine == 5, "thread_local");
  mine = n;
  call_once(&once, count_once);
  CHECK(tss_set(key, malloc(100)) == thrd_success, "tss_set");
  mtx_lock(&mu);
  total += n;
  mtx_unlock(&mu);
  CHECK(thrd_equal(thrd_current(), (thrd_t)pthread_self()), "thrd_current");
  struct stack s = stack_of(pthread_self());
  CHECK((uintptr_t)&n > s.lo && (uintptr_t)&n < s.hi, "frame outside of the reported stack");
  if (n % 2) thrd_exit(-n);
  return -n;
}
static int detached(void *v) {
  __atomic_fetch_add((int *)v, 1, __ATOMIC_SEQ_CST);
  return 0;
}
int main(void) {
  CHECK(tss_create(&key, on_key) == thrd_success && mtx_init(&mu, mtx_plain) == thrd_success, "init");
  long size = 0, rss = 0;
  int maps = 0;
  for (int i = 0; i < 1000; i++) {
    thrd_t t[3];
    int n[3], r = 12345;
    for (int k = 0; k < 3; k++) {
      n[k] = i + k;
      CHECK(thrd_create(&t[k], body, &n[k]) == thrd_success, "thrd_create");
    }
    CHECK(thrd_join(t[0], &r) == thrd_success && r == -i, "result %d, not %d", r, -i);
    CHECK(thrd_join(t[1], 0) == thrd_success, "thrd_join");
    void *p = 0;
    CHECK(!pthread_join((pthread_t)t[2], &p) && (int)(long)p == -(i + 2), "joined by pthread_join: %p", p);
    CHECK(thrd_create(&t[0], detached, (void *)&ended) == thrd_success && thrd_detach(t[0]) == thrd_success, "detach");
    if (i == 200) {
      size = status_kb("VmSize");
      rss = status_kb("VmRSS");
      maps = count_maps();
    }
  }
  CHECK(SETTLES(3000, ended == 1000 && count_tasks() == 1), "%d detached threads ended", ended);
  CHECK(destroyed == 3000 && onces == 1, "%d key values destroyed, once ran %d times", destroyed, onces);
  CHECK(total == 3L * (999 * 1000 / 2) + 3 * 1000, "sum %ld", total);
  size = status_kb("VmSize") - size;
  rss = status_kb("VmRSS") - rss;
  maps = count_maps() - maps;
  CHECK(size < 70 << 10 && rss < 4 << 10 && maps < 40, "left: %ld kB of address space, %ld kB resident, %d mappings", size,
        rss, maps);
  return 0;
}
