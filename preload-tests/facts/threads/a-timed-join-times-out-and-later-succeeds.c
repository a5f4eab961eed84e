// A timed join that times out leaves the thread joinable, waits as long as asked and no longer,
// and succeeds when the thread ends in time; a try answers EBUSY until then. All deliver the result.
#include "check.h"
static pthread_barrier_t go;
static void *wait_go(void *arg) {
  pthread_barrier_wait(&go);
  return arg;
}
static struct timespec in_ms(clockid_t c, int ms) {
  struct timespec t;
  clock_gettime(c, &t);
  t.tv_sec += ms / 1000;
  t.tv_nsec += ms % 1000 * 1000000L;
  if (t.tv_nsec >= 1000000000) {
    t.tv_sec++;
    t.tv_nsec -= 1000000000;
  }
  return t;
}
static int join_by(int how, pthread_t t, void **r, int ms) {
  struct timespec d;
  switch (how) {
    case 0: d = in_ms(CLOCK_REALTIME, ms); return pthread_timedjoin_np(t, r, &d);
    case 1: d = in_ms(CLOCK_REALTIME, ms); return pthread_clockjoin_np(t, r, CLOCK_REALTIME, &d);
    default: d = in_ms(CLOCK_MONOTONIC, ms); return pthread_clockjoin_np(t, r, CLOCK_MONOTONIC, &d);
  }
}
int main(void) {
  pthread_barrier_init(&go, 0, 2);
  for (int i = 0; i < 30; i++) {
    void *r = &go;
    pthread_t t = start(0, wait_go, &r);
    CHECK(pthread_tryjoin_np(t, &r) == EBUSY && r == &go, "try of a running thread");
    double t0 = now_s();
    int e = join_by(i % 3, t, &r, 20);
    double took = now_s() - t0;
    CHECK(e == ETIMEDOUT && r == &go, "kind %d: %d (%s), result %p", i % 3, e, strerror(e), r);
    CHECK(took >= 0.0195 && took < 2, "kind %d waited %.4f s for 20 ms", i % 3, took);
    CHECK(join_by(i % 3, t, &r, -1000) == ETIMEDOUT, "a time that is over");
    pthread_barrier_wait(&go);
    if (i % 4 == 3) {
      while ((e = pthread_tryjoin_np(t, &r)) == EBUSY) nap_ms(1);
    } else if (i % 4 == 2) {
      e = pthread_timedjoin_np(t, &r, 0);
    } else {
      e = join_by((i + 1) % 3, t, &r, 5000);
    }
    CHECK(!e && r == &r, "the later join: %d, result %p", e, r);
  }
  return 0;
}
