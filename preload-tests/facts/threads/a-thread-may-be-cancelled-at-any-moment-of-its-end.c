// A detached thread that allows cancellation at any moment is cancelled while it returns from its
// routine, 1500 times amid 60 others: threads go on being created and joined, and all end.
#include "check.h"
enum { ROUNDS = 1500, OTHERS = 60 };
static pthread_key_t key;
static pthread_barrier_t out;
static volatile int going, cancelled;
// Runs after the routine: what keeps the thread there to be cancelled.
static void wait_for_cancel(void *arg) {
  int old;
  (void)arg;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
  while (!cancelled) sched_yield();
}
static void *work(void *arg) {
  int old;
  CHECK(!pthread_setspecific(key, &key), "setspecific");
  CHECK(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old), "setcanceltype");
  going = 1;
  return arg;
}
static void *stay(void *arg) {
  pthread_barrier_wait(&out);
  return arg;
}
static void *nothing(void *arg) { return arg; }
int main(void) {
  CHECK(!pthread_key_create(&key, wait_for_cancel), "key");
  pthread_barrier_init(&out, 0, OTHERS + 1);
  pthread_attr_t small = attr_of(64 << 10, 4096), detached = attr_of(64 << 10, 4096);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < OTHERS; i++) start(&detached, stay, 0);
  unsigned seed = 1;
  for (int i = 0; i < ROUNDS; i++) {
    going = cancelled = 0;
    pthread_t t = start(&detached, work, 0);
    while (!going) {
    }
    for (volatile unsigned n = rnd(&seed) % 3000; n; n--) {
    }
    CHECK(!pthread_cancel(t), "cancel");
    cancelled = 1;
    if (i % 16 == 0) finish(start(&small, nothing, 0));
  }
  pthread_barrier_wait(&out);
  CHECK(SETTLES(5000, count_tasks() == 1), "%d tasks are left", count_tasks());
  return 0;
}
