// How long one malloc and one free take in a locked real-time process, as a distribution. A live set
// of LIVE blocks of 16 bytes to 32 KiB (every octave equally likely); each operation frees a random
// one and allocates another, both timed. With `handed` two threads do so and pass blocks to each
// other, so that half of the frees are of the other thread's blocks. The first tenth is not counted.
//
// Real-time threads sleep a tenth of the time outside the measured calls, or the kernel's own
// throttling would show as the largest latency. `quiet` leaves out sleeping and scheduling and marks
// the counted part with two getppid calls, for a count of system calls from outside.
// Arguments: alone | handed | quiet, operations per thread, live blocks per thread.
#include "../threads/thread.h"
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#if defined __x86_64__
#include <x86intrin.h>
#endif

enum { SUB = 32, BUCKETS = 40 * SUB, SWAP = 64 };
typedef struct {
  uint32_t n[BUCKETS];
  uint64_t most;
} histogram_t;

typedef struct {
  histogram_t take, give;
  void **live;
  uint64_t seed;
  long faults;
  int fifo;
} worker_t;

static long ops;
static int live, threads = 1, quiet;
static void *swap[SWAP];
static worker_t worker[2];
static double per_tick;

#if defined __x86_64__
static inline uint64_t ticks(void) {
  unsigned aux;
  return __rdtscp(&aux);
}
#else
static inline uint64_t ticks(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif

// Buckets: one for each value below 2 * SUB, then SUB for each doubling.
static inline void count(histogram_t *h, uint64_t v) {
  if (v > h->most) h->most = v;
  int shift = v < SUB ? 0 : 58 - __builtin_clzll(v);
  int i = shift * SUB + (int)(v >> shift);
  h->n[i < BUCKETS ? i : BUCKETS - 1]++;
}
static double value(int i) {
  int shift = i < 2 * SUB ? 0 : i / SUB - 1;
  return (double)((uint64_t)(i - shift * SUB) << shift);
}

static inline uint32_t rnd(uint64_t *s) {
  *s = *s * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*s >> 32);
}
static inline size_t size_of(uint64_t *s) {
  uint32_t v = rnd(s);
  size_t base = (size_t)16 << (v % 11);
  return base + ((v >> 8) & (base - 1));
}

static long faults(void) {
  struct rusage u;
  NEED_0(getrusage(RUSAGE_THREAD, &u));
  return u.ru_minflt + u.ru_majflt;
}

static void *fresh(uint64_t *seed) {
  size_t n = size_of(seed);
  char *p = malloc(n);
  NEED(p);
  p[0] = p[n - 1] = 1;
  return p;
}

static pthread_barrier_t filled, warm, finished;

static void *work(void *arg) {
  worker_t *w = arg;
  struct sched_param one = {.sched_priority = 1};
  for (int i = 0; i < live; i++) w->live[i] = fresh(&w->seed);
  pthread_barrier_wait(&filled);
  w->fifo = !quiet && pthread_setschedparam(pthread_self(), SCHED_FIFO, &one) == 0;
  long before = 0;
  double rest = now();
  for (long i = -ops / 9; i < ops; i++) {
    if (i == 0) {
      pthread_barrier_wait(&warm);
      faults();
      before = faults();
      if (quiet) (void)getppid();
    }
    uint32_t k = rnd(&w->seed) % (uint32_t)live;
    if (threads > 1 && k & 1)
      w->live[k] = __atomic_exchange_n(&swap[k / 2 % SWAP], w->live[k], __ATOMIC_ACQ_REL);
    size_t n = size_of(&w->seed);
    uint64_t t0 = ticks();
    free(w->live[k]);
    uint64_t t1 = ticks();
    char *p = malloc(n);
    uint64_t t2 = ticks();
    NEED(p);
    p[0] = p[n - 1] = 1;
    w->live[k] = p;
    if (i >= 0) {
      count(&w->give, t1 - t0);
      count(&w->take, t2 - t1);
    }
    if (w->fifo && (i & 1023) == 0 && now() - rest > 0.02) {
      struct timespec pause = {0, 2500000};
      nanosleep(&pause, NULL);
      rest = now();
    }
  }
  if (quiet) (void)getppid();
  w->faults = faults() - before;
  pthread_barrier_wait(&finished);
  for (int i = 0; i < live; i++) free(w->live[i]);
  return NULL;
}

static void show(const char *name, const histogram_t *a, const histogram_t *b) {
  static const struct { const char *name; double q; } points[] = {
      {"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
  uint64_t total = 0, seen = 0, most = a->most > b->most ? a->most : b->most;
  for (int i = 0; i < BUCKETS; i++) total += a->n[i] + b->n[i];
  NEED(total == (uint64_t)ops * (uint64_t)threads);
  int at = 0;
  for (int i = 0; i < BUCKETS && at < 4; i++) {
    seen += a->n[i] + b->n[i];
    while (at < 4 && (double)seen >= points[at].q * (double)total) {
      fprintf(stderr, "\"%s %s\": %.1f, ", name, points[at].name, value(i) * per_tick);
      at++;
    }
  }
  fprintf(stderr, "\"%s max\": %.1f, ", name, (double)most * per_tick);
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  threads = strcmp(argv[1], "handed") == 0 ? 2 : 1;
  quiet = strcmp(argv[1], "quiet") == 0;
  ops = atol(argv[2]);
  live = atoi(argv[3]);
  // The recipe of real-time programs: never give memory back, never map a block by itself.
  NEED(mallopt(M_TRIM_THRESHOLD, -1) >= 0 && mallopt(M_MMAP_MAX, 0) >= 0);
  NEED_0(mlockall(MCL_CURRENT | MCL_FUTURE));
  double t0 = now();
  uint64_t c0 = ticks();
  while (now() - t0 < 0.05) {}
  for (uint64_t v = 0; v < (uint64_t)1 << 30; v += 1 + v / 100) {
    // The buckets are exact to one part in SUB, or every number below is wrong.
    static histogram_t trial;
    memset(&trial, 0, sizeof trial);
    count(&trial, v);
    int i = 0;
    while (!trial.n[i]) i++;
    NEED(value(i) <= (double)v && value(i) >= (double)v * (1 - 1.0 / SUB));
  }
  per_tick = (now() - t0) * 1e9 / (double)(ticks() - c0);
  NEED_0(pthread_barrier_init(&filled, NULL, (unsigned)threads));
  NEED_0(pthread_barrier_init(&warm, NULL, (unsigned)threads));
  NEED_0(pthread_barrier_init(&finished, NULL, (unsigned)threads));
  pthread_t t[2];
  pthread_attr_t attr;
  NEED_0(pthread_attr_init(&attr));
  NEED_0(pthread_attr_setstacksize(&attr, 128 << 10));
  for (int i = 0; i < threads; i++) {
    worker[i].seed = (uint64_t)i + 71;
    worker[i].live = calloc((size_t)live, sizeof(void *));
    NEED(worker[i].live);
  }
  uint64_t seed = 5;
  for (int i = 0; i < SWAP; i++) swap[i] = fresh(&seed);
  for (int i = 0; i < threads; i++) NEED_0(pthread_create(&t[i], &attr, work, &worker[i]));
  for (int i = 0; i < threads; i++) NEED_0(pthread_join(t[i], NULL));
  fprintf(stderr, "{");
  show("malloc", &worker[0].take, &worker[1].take);
  show("free", &worker[0].give, &worker[1].give);
  fprintf(stderr, "\"faults\": %ld, \"fifo\": %d}\n", worker[0].faults + worker[1].faults, worker[0].fifo);
  puts("done");
  return 0;
}
