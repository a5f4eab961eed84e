// Locked, without privileges, with a limit far below a stack of 8 MiB: such a thread may be had or
// be refused with EAGAIN, nothing else; a thousand refusals lose neither memory nor mappings, and
// small threads run all the while.
#include "check.h"
static volatile int ran;
static void *count(void *arg) {
  ran++;
  return arg;
}
int main(void) {
  set_limit(RLIMIT_MEMLOCK, 6 << 20);
  become_ordinary(65534);
  CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  pthread_attr_t big = attr_of(8 << 20, 4096), small = attr_of(32 << 10, 4096);
  long size = 0;
  int maps = 0, made = 0;
  for (int i = 0; i < 1000; i++) {
    pthread_t t;
    int before = ran, e = pthread_create(&t, &big, count, (void *)7);
    if (!e) {
      made++;
      CHECK(finish(t) == (void *)7 && ran == before + 1, "the thread did not run");
    } else {
      CHECK(e == EAGAIN, "refused with %d (%s)", e, strerror(e));
      CHECK(ran == before, "a refused thread ran");
    }
    CHECK(finish(start(&small, count, (void *)9)) == (void *)9, "result");
    if (i == 20) {
      size = status_kb("VmSize");
      maps = count_maps();
    }
  }
  size = status_kb("VmSize") - size;
  maps = count_maps() - maps;
  CHECK(size < 4096 && maps < 16, "refusals left %ld kB and %d mappings", size, maps);
  munlockall();
  finish(start(&big, count, 0));
  INFO("of 1000 large threads %d were had", made);
  return 0;
}
