// Joining oneself, detached threads, with bad clocks and times that are over, detaching twice:
// every refusal is glibc's, and the threads stay as they were.
// output: same
#include "check.h"
static pthread_barrier_t go;
static void *stay(void *arg) {
  pthread_barrier_wait(&go);
  return arg;
}
static void *self_join(void *arg) {
  printf("self join %d\n", pthread_join(pthread_self(), 0));
  printf("self try %d\n", pthread_tryjoin_np(pthread_self(), 0));
  return arg;
}
int main(void) {
  struct timespec negative = { -1, 0 }, none = { 0, 0 };
  pthread_attr_t a;
  pthread_barrier_init(&go, 0, 2);
  finish(start(0, self_join, 0));

  pthread_attr_init(&a);
  pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
  pthread_t t = start(&a, stay, 0);
  printf("detached: join %d try %d timed %d detach %d\n", pthread_join(t, 0), pthread_tryjoin_np(t, 0),
         pthread_timedjoin_np(t, 0, &none), pthread_detach(t));
  pthread_barrier_wait(&go);

  t = start(0, stay, &t);
  printf("times: %d %d", pthread_timedjoin_np(t, 0, &negative), pthread_timedjoin_np(t, 0, &none));
  printf(" clocks: %d %d %d\n", pthread_clockjoin_np(t, 0, CLOCK_PROCESS_CPUTIME_ID, &none),
         pthread_clockjoin_np(t, 0, 4711, &none), pthread_clockjoin_np(t, 0, CLOCK_MONOTONIC, &negative));
  pthread_barrier_wait(&go);
  CHECK(finish(t) == &t, "result after all refusals");

  t = start(0, stay, 0);
  printf("detach %d", pthread_detach(t));
  printf(" again %d join %d\n", pthread_detach(t), pthread_join(t, 0));
  pthread_barrier_wait(&go);
  return 0;
}
