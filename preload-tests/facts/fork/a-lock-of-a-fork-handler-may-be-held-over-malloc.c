// A library takes its own lock in its fork handler, and its threads use the heap while they hold
// that lock; registered first or last, fork must not wait for a thread that waits for the heap.
// linked: locking-fork-handlers.c
#include "check.h"
extern pthread_mutex_t early_lock;
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static volatile long turns;
static void lock(void) { pthread_mutex_lock(&late_lock); }
static void unlock(void) { pthread_mutex_unlock(&late_lock); }
static void *holder(void *v) {
  pthread_mutex_t *m = v;
  unsigned s = (unsigned)(uintptr_t)&s | 1;
  void *p[40] = { 0 };
  while (!stop) {
    pthread_mutex_lock(m);
    for (int i = 0; i < 40; i++) {
      free(p[i]);
      p[i] = malloc(1 + rnd(&s) % (i % 8 ? 3000 : 300000));
    }
    pthread_mutex_unlock(m);
    // The mutex is not fair: let the forking thread have it.
    if (__atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED) % 4 == 0) nap_ms(1);
  }
  for (int i = 0; i < 40; i++) free(p[i]);
  return 0;
}
static void *quick(void *arg) { return arg; }
static void *starter(void *v) {
  pthread_mutex_t *m = v;
  while (!stop) {
    pthread_mutex_lock(m);
    finish(start(0, quick, 0));
    pthread_mutex_unlock(m);
    nap_ms(1);
  }
  return 0;
}
int main(void) {
  pthread_t t[6];
  alarm(25);
  CHECK(!pthread_atfork(lock, unlock, unlock), "atfork");
  for (int i = 0; i < 6; i++)
    t[i] = start(0, i < 4 ? holder : starter, i % 2 ? &early_lock : &late_lock);
  int n = 0;
  for (double t0 = now_s(); n < 150 && now_s() - t0 < 3; n++) {
    pid_t p = fork();
    CHECK(p >= 0, "fork");
    if (!p) {
      alarm(20);
      pthread_mutex_lock(&early_lock);
      pthread_mutex_lock(&late_lock);
      free(malloc(100));
      _exit(0);
    }
    child_ok(p, "child");
  }
  stop = 1;
  for (int i = 0; i < 6; i++) finish(t[i]);
  CHECK(n > 5 && turns > n / 4, "%d forks, %ld turns: the locks did not meet", n, turns);
  INFO("%d forks, %ld turns of the threads", n, turns);
  return 0;
}
