// variant: -DLOCK
// variant: -DTHRESHOLD=200000000
// variant: -DTHRESHOLD=200000000 -DLOCK_LATER
// What a program keeps with M_TRIM_THRESHOLD stays, whatever else fails: no later use of that
// memory takes a page fault.
#include "check.h"
#include <malloc.h>
#ifndef THRESHOLD
#define THRESHOLD -1
#endif
enum { POOL = 50 << 20, N = 60, SIZE = 300000 };
static void use(const char *when) {
  long before = faults(RUSAGE_SELF);
  char *b[N];
  for (int i = 0; i < N; i++) {
    CHECK(b[i] = malloc(SIZE), "%s", when);
    memset(b[i], 1, SIZE);
  }
  for (int i = 0; i < N; i++) free(b[i]);
  before = faults(RUSAGE_SELF) - before;
  CHECK(before < 50, "%s: %ld faults", when, before);
}
int main(void) {
  CHECK(mallopt(M_TRIM_THRESHOLD, THRESHOLD) && mallopt(M_MMAP_MAX, 0), "mallopt");
#ifdef LOCK
  if (mlockall(MCL_CURRENT | MCL_FUTURE)) SKIP("mlockall: %s", strerror(errno));
#endif
  char *p = malloc(POOL);
  CHECK(p, "malloc");
  memset(p, 1, POOL);
  free(p);
#ifdef LOCK_LATER
  if (mlockall(MCL_CURRENT | MCL_FUTURE)) SKIP("mlockall: %s", strerror(errno));
#endif
  use("before");
  CHECK(!malloc(1ul << 46), "malloc");
  use("after a malloc that failed");
  pthread_attr_t huge;
  pthread_t t;
  pthread_attr_init(&huge);
  CHECK(!pthread_attr_setstacksize(&huge, 1ul << 46), "setstacksize");
  CHECK(pthread_create(&t, &huge, (void *(*)(void *))use, NULL) == EAGAIN, "pthread_create");
  use("after a pthread_create that failed");
  return 0;
}
