// Eight threads create, join and detach threads of mixed sizes at the same time, also threads
// created by one and joined by another: every routine runs once, every result arrives.
#include "check.h"
enum { CREATORS = 8, EACH = 400, SLOTS = 64 };
static pthread_t slot[SLOTS];
static int state[SLOTS];
static volatile long ran, detached;
static void *body(void *arg) {
  char *p = malloc((size_t)(1 + (long)arg % 4000));
  CHECK(p, "malloc");
  p[0] = 1;
  free(p);
  __atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
  return arg;
}
static void *creator(void *v) {
  unsigned s = (unsigned)(long)v * 99991 + 7;
  for (int i = 0; i < EACH; i++) {
    pthread_attr_t a = attr_of((32 << 10) << rnd(&s) % 8, rnd(&s) % 3 * 5000);
    long id = (long)(rnd(&s) % SLOTS);
    pthread_t t = start(rnd(&s) % 4 ? &a : 0, body, (void *)id);
    int zero = 0, two = 2;
    if (rnd(&s) % 8 == 0) {
      CHECK(!pthread_detach(t), "detach");
      __atomic_fetch_add(&detached, 1, __ATOMIC_SEQ_CST);
    } else if (__atomic_compare_exchange_n(&state[id], &zero, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      slot[id] = t;
      __atomic_store_n(&state[id], 2, __ATOMIC_SEQ_CST);
    } else {
      CHECK(finish(t) == (void *)id, "result");
    }
    long take = (long)(rnd(&s) % SLOTS);
    if (__atomic_compare_exchange_n(&state[take], &two, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      CHECK(finish(slot[take]) == (void *)take, "result of another's thread");
      __atomic_store_n(&state[take], 0, __ATOMIC_SEQ_CST);
    }
    pthread_attr_destroy(&a);
  }
  return v;
}
int main(void) {
  pthread_t t[CREATORS];
  for (long i = 0; i < CREATORS; i++) t[i] = start(0, creator, (void *)i);
  for (int i = 0; i < CREATORS; i++) finish(t[i]);
  for (long i = 0; i < SLOTS; i++)
    if (state[i] == 2) CHECK(finish(slot[i]) == (void *)i, "result of a thread left over");
  CHECK(SETTLES(3000, ran == CREATORS * EACH && count_tasks() == 1), "%ld of %d ran", ran, CREATORS * EACH);
  CHECK(detached > 50, "only %ld detached", detached);
  return 0;
}
