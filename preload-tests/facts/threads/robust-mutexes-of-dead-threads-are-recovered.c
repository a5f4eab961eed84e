// A robust mutex held by a thread that ends, in whatever way, is given to the next with EOWNERDEAD,
// however many such mutexes it held.
#include "check.h"
enum { N = 5 };
static pthread_mutex_t mu[N];
static volatile int ready;
static void *dies(void *arg) {
  for (int i = 0; i < N; i++) pthread_mutex_lock(&mu[i]);
  ready = 1;
  if (arg == (void *)1) pthread_exit(0);
  if (arg == (void *)2) pause();
  return 0;
}
int main(void) {
  pthread_mutexattr_t ma;
  pthread_mutexattr_init(&ma);
  pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
  for (int i = 0; i < N; i++) pthread_mutex_init(&mu[i], &ma);
  for (long k = 0; k < 300; k++) {
    ready = 0;
    pthread_t t = start(0, dies, (void *)(k % 3));
    if (k % 3 == 2) {
      while (!ready) sched_yield();
      pthread_cancel(t);
    }
    finish(t);
    for (int i = 0; i < N; i++) {
      int e = pthread_mutex_lock(&mu[i]);
      CHECK(e == EOWNERDEAD, "way %ld, mutex %d: %d", k % 3, i, e);
      CHECK(!pthread_mutex_consistent(&mu[i]) && !pthread_mutex_unlock(&mu[i]), "recovery");
    }
  }
  return 0;
}
