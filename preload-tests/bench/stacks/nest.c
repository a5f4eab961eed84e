// The program that showed the cost of guards: OUTER threads each create INNER threads, all of them
// with the given stack and guard, and join them after all were created. Prints seconds of the work.
// Arguments: outer, inner, stack bytes, guard bytes, whether to lock memory (0 or 1).
#include "../threads/thread.h"
#include <sys/mman.h>

static pthread_attr_t attr;
static int inner;

// What a thread is given and must give back: its number, so that a lost or swapped result is seen.
#define TOKEN(i) ((void *)(intptr_t)((i) + 1))

static void *leaf(void *arg) { return arg; }

static void *branch(void *arg) {
  pthread_t *t = calloc((size_t)inner, sizeof *t);
  NEED(t);
  for (int i = 0; i < inner; i++) NEED_0(pthread_create(&t[i], &attr, leaf, TOKEN(i)));
  for (int i = 0; i < inner; i++) {
    void *v;
    NEED_0(pthread_join(t[i], &v));
    NEED(v == TOKEN(i));
  }
  free(t);
  return arg;
}

int main(int argc, char **argv) {
  NEED(argc == 6);
  int outer = atoi(argv[1]);
  inner = atoi(argv[2]);
  NEED_0(pthread_attr_init(&attr));
  NEED_0(pthread_attr_setstacksize(&attr, strtoull(argv[3], NULL, 10)));
  NEED_0(pthread_attr_setguardsize(&attr, strtoull(argv[4], NULL, 10)));
  if (atoi(argv[5])) NEED_0(mlockall(MCL_CURRENT | MCL_FUTURE));
  pthread_t *t = calloc((size_t)outer, sizeof *t);
  NEED(t);
  double t0 = now();
  for (int i = 0; i < outer; i++) NEED_0(pthread_create(&t[i], &attr, branch, TOKEN(i)));
  for (int i = 0; i < outer; i++) {
    void *v;
    NEED_0(pthread_join(t[i], &v));
    NEED(v == TOKEN(i));
  }
  fprintf(stderr, "{\"seconds\": %.6f}\n", now() - t0);
  puts("done");
  return 0;
}
