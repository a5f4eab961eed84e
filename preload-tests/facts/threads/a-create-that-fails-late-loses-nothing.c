// pthread_create can fail after the kernel thread was made, when the affinity or the scheduling
// asked for is refused: it gives the error, the routine never runs, and 3000 such failures leave
// nothing. Good threads in between run.
// user: ordinary
#include "check.h"
static volatile int ran;
static void *count(void *arg) {
  __atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
  return arg;
}
int main(void) {
  pthread_attr_t cpu = attr_of(64 << 10, 4096), fifo = attr_of(128 << 10, 4096), big = attr_of(6 << 20, 4096);
  cpu_set_t far;
  struct sched_param p = { .sched_priority = 5 };
  CPU_ZERO(&far);
  CPU_SET(CPU_SETSIZE - 1, &far);
  CHECK(!pthread_attr_setaffinity_np(&cpu, sizeof far, &far) && !pthread_attr_setaffinity_np(&big, sizeof far, &far),
        "setaffinity");
  CHECK(!pthread_attr_setinheritsched(&fifo, PTHREAD_EXPLICIT_SCHED) && !pthread_attr_setschedpolicy(&fifo, SCHED_FIFO) &&
            !pthread_attr_setschedparam(&fifo, &p), "scheduling");
  set_limit(RLIMIT_RTPRIO, 0);
  long size = 0, rss = 0;
  int maps = 0;
  for (int i = 0; i < 1000; i++) {
    pthread_t t;
    int e = pthread_create(&t, &cpu, count, 0), f = pthread_create(&t, &fifo, count, 0),
        g = pthread_create(&t, &big, count, 0);
    CHECK(e == EINVAL && g == EINVAL, "a CPU that does not exist: %d %d", e, g);
    CHECK(f == EPERM, "SCHED_FIFO without privilege: %d", f);
    CHECK(ran == i, "a refused thread ran");
    finish(start(0, count, 0));
    CHECK(ran == i + 1, "a good thread did not run");
    if (i == 100) {
      size = status_kb("VmSize");
      rss = status_kb("VmRSS");
      maps = count_maps();
    }
  }
  CHECK(SETTLES(2000, count_tasks() == 1), "%d tasks are left", count_tasks());
  size = status_kb("VmSize") - size;
  rss = status_kb("VmRSS") - rss;
  maps = count_maps() - maps;
  CHECK(size < 16 << 10 && rss < 2 << 10 && maps < 20, "left: %ld kB of address space, %ld kB resident, %d mappings", size,
        rss, maps);
  return 0;
}
