// A thread cancelled inside pthread_join, pthread_timedjoin_np or pthread_clockjoin_np ends as
// cancelled; the thread it waited for goes on and can be joined by another, once, with its result.
#include "check.h"
static pthread_barrier_t go;
static volatile int inside;
static void *target(void *arg) {
  pthread_barrier_wait(&go);
  return arg;
}
struct job {
  pthread_t t;
  int how;
};
static void *joiner(void *v) {
  struct job *j = v;
  struct timespec late;
  clock_gettime(j->how == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &late);
  late.tv_sec += 100;
  inside = 1;
  int e = j->how == 0   ? pthread_join(j->t, 0)
          : j->how == 1 ? pthread_timedjoin_np(j->t, 0, &late)
                        : pthread_clockjoin_np(j->t, 0, CLOCK_MONOTONIC, &late);
  CHECK(0, "join %d returned %d to a cancelled thread", j->how, e);
  return 0;
}
int main(void) {
  pthread_barrier_init(&go, 0, 2);
  for (int i = 0; i < 150; i++) {
    struct job j = { start(0, target, &j), i % 3 };
    for (int k = 0; k < 2; k++) {
      inside = 0;
      pthread_t w = start(0, joiner, &j);
      while (!inside) sched_yield();
      if (i % 5) nap_ms(1);
      CHECK(!pthread_cancel(w), "cancel");
      CHECK(finish(w) == PTHREAD_CANCELED, "the joiner did not end as cancelled");
    }
    if (i % 2) {
      pthread_barrier_wait(&go);
      CHECK(finish(j.t) == &j, "the result is lost");
    } else {
      CHECK(pthread_tryjoin_np(j.t, 0) == EBUSY, "tryjoin of a running thread");
      CHECK(!pthread_detach(j.t), "detach after a cancelled join");
      pthread_barrier_wait(&go);
    }
  }
  CHECK(SETTLES(3000, count_tasks() == 1), "%d tasks left", count_tasks());
  return 0;
}
