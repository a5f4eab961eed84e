// Latency of creating and joining one thread, in microseconds: p50, p99 and the largest, with LIVE
// other threads alive, for one stack size and guard. `round` joins each thread before the next is
// created; `batch` creates 32 and joins 32, which outgrows a small stack cache when stacks are large.
// `touch` of the new thread's stack is written, since a page that comes late costs the thread and not
// the creator. Locked: 0 no, 1 mlockall(CURRENT|FUTURE).
// Arguments: kind, live, stack, guard, locked, touch bytes, count.
#include "../threads/thread.h"
#include <sys/mman.h>
#include <sys/resource.h>

static size_t touch;
static pthread_barrier_t ready, over;

static void *leaf(void *arg) {
  if (touch) {
    volatile char room[touch];
    for (size_t i = 0; i < touch; i += 4096) room[touch - 1 - i] = 1;
    (void)room[0];
  }
  return arg;
}

static void *idle(void *arg) {
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&over);
  return arg;
}

int main(int argc, char **argv) {
  NEED(argc == 8);
  enum { BATCH = 32 };
  int batch = strcmp(argv[1], "batch") == 0, live = atoi(argv[2]), count = atoi(argv[7]);
  pthread_attr_t attr;
  NEED_0(pthread_attr_init(&attr));
  NEED_0(pthread_attr_setstacksize(&attr, strtoull(argv[3], NULL, 10)));
  NEED_0(pthread_attr_setguardsize(&attr, strtoull(argv[4], NULL, 10)));
  touch = strtoull(argv[6], NULL, 10);
  if (atoi(argv[5])) NEED_0(mlockall(MCL_CURRENT | MCL_FUTURE));
  pthread_t *others = calloc((size_t)live + 1, sizeof *others);
  double *sample = calloc((size_t)count, sizeof *sample);
  NEED(others && sample);
  NEED_0(pthread_barrier_init(&ready, NULL, (unsigned)live + 1));
  NEED_0(pthread_barrier_init(&over, NULL, (unsigned)live + 1));
  for (int i = 0; i < live; i++) NEED_0(pthread_create(&others[i], &attr, idle, NULL));
  pthread_barrier_wait(&ready);
  double cold = 0, total = 0, t0, begin = now();
  int n = 0;
  for (int i = 0; i < count / (batch ? BATCH : 1); i++) {
    pthread_t t[BATCH];
    t0 = now();
    if (batch) {
      for (int k = 0; k < BATCH; k++) NEED_0(pthread_create(&t[k], &attr, leaf, NULL));
      for (int k = 0; k < BATCH; k++) NEED_0(pthread_join(t[k], NULL));
    } else {
      NEED_0(pthread_create(t, &attr, leaf, NULL));
      NEED_0(pthread_join(t[0], NULL));
    }
    double took = (now() - t0) * 1e6 / (batch ? BATCH : 1);
    if (i == 0) cold = took;
    else sample[n++] = took;
  }
  total = now() - begin;
  NEED(n > 10);
  qsort(sample, (size_t)n, sizeof *sample, up);
  pthread_barrier_wait(&over);
  for (int i = 0; i < live; i++) NEED_0(pthread_join(others[i], NULL));
  fprintf(stderr, "{\"seconds\": %.6f, \"cold\": %.3f, \"p50\": %.3f, \"p99\": %.3f, \"max\": %.3f}\n", total, cold,
          quantile(sample, n, 0.5), quantile(sample, n, 0.99), sample[n - 1]);
  puts("done");
  return 0;
}
