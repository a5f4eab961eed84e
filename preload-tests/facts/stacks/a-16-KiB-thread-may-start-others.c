// A thread on a stack of 16 KiB starts, joins and detaches others, asks for attributes, and ends by
// pthread_exit: none of these calls needs a deep stack.
#include "check.h"
enum { SMALL = 16384 };
static volatile int ended;
static void *leaf(void *arg) {
  free(malloc(200));
  __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
  return arg;
}
static void *branch(void *arg) {
  pthread_attr_t a = attr_of(SMALL, 4096);
  CHECK(finish(start(&a, leaf, arg)) == arg, "result");
  CHECK(finish(start(0, leaf, arg)) == arg, "result of a default thread");
  CHECK(!pthread_detach(start(&a, leaf, arg)), "detach");
  pthread_attr_destroy(&a);
  CHECK(stack_of(pthread_self()).size >= SMALL, "getattr");
  struct timespec late;
  void *r = 0;
  clock_gettime(CLOCK_REALTIME, &late);
  late.tv_sec += 20;
  pthread_t t = start(0, leaf, arg);
  CHECK(!pthread_timedjoin_np(t, &r, &late) && r == arg, "timed join");
  pthread_exit(arg);
}
int main(void) {
  pthread_attr_t a = attr_of(SMALL, 4096);
  for (int i = 0; i < 300; i++) CHECK(finish(start(&a, branch, &a)) == &a, "result");
  CHECK(SETTLES(3000, ended == 1200 && count_tasks() == 1), "%d ended", ended);
  if (!has_cap(CAP_IPC_LOCK_)) return 0;
  CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  for (int i = 0; i < 20; i++) CHECK(finish(start(&a, branch, &a)) == &a, "result, locked");
  return 0;
}
