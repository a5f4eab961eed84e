// A key's destructor that sets its value again is called once in each of the four rounds, no more;
// many keys, those beyond the first 32 too; destructors use the heap and see the right values.
#include "check.h"
enum { KEYS = 100 };
static pthread_key_t again, keys[KEYS];
static int rounds;
static long sum;
static void on_again(void *v) {
  char *p = v;
  CHECK(!strcmp(p, "value"), "the value changed");
  free(p);
  rounds++;
  pthread_setspecific(again, strdup("value"));
}
static void on_key(void *v) {
  sum += *(long *)v;
  free(v);
}
static void *body(void *arg) {
  pthread_setspecific(again, strdup("value"));
  for (long i = 0; i < KEYS; i++) {
    long *p = malloc(sizeof *p);
    *p = i;
    CHECK(!pthread_setspecific(keys[i], p), "setspecific");
  }
  if (arg) pthread_exit(arg);
  return arg;
}
int main(void) {
  CHECK(!pthread_key_create(&again, on_again), "key");
  for (int i = 0; i < KEYS; i++) CHECK(!pthread_key_create(&keys[i], on_key), "key");
  for (long i = 0; i < 200; i++) {
    rounds = 0;
    sum = 0;
    CHECK(finish(start(0, body, (void *)(i % 2))) == (void *)(i % 2), "result");
    CHECK(rounds == PTHREAD_DESTRUCTOR_ITERATIONS, "%d rounds", rounds);
    CHECK(sum == KEYS * (KEYS - 1) / 2, "sum of the keys' values %ld", sum);
  }
  return 0;
}
