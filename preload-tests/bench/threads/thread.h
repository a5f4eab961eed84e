// What the thread programs share: checks that end the program, the clock, a sorted sample.
#ifndef THREAD_H
#define THREAD_H
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NEED(cond)                                                                        \
  do {                                                                                    \
    if (!(cond)) {                                                                        \
      dprintf(2, "%s:%d: %s does not hold (errno %d)\n", __FILE__, __LINE__, #cond, errno); \
      _exit(1);                                                                           \
    }                                                                                     \
  } while (0)

// A call that gives 0 or an error number; mlockall and its like give -1 and errno.
#define NEED_0(call)                                                                      \
  do {                                                                                    \
    int need_0 = (call);                                                                  \
    if (need_0) {                                                                         \
      dprintf(2, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, strerror(need_0 < 0 ? errno : need_0)); \
      _exit(1);                                                                           \
    }                                                                                     \
  } while (0)

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static inline int up(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
// The value below which the part Q of N sorted samples lies.
static inline double quantile(const double *v, int n, double q) {
  int i = (int)(q * n);
  return v[i < n ? i : n - 1];
}
#endif
