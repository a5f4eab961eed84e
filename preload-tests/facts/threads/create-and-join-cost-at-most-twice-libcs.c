// pthread_create and pthread_join take at most twice the time of libc's own, which are reached
// through a handle of libc.so.6 (medians of interleaved rounds).
#include "check.h"
#include <dlfcn.h>
typedef int (*create_t)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int (*join_t)(pthread_t, void **);
enum { ROUNDS = 11, N = 200 };
static void *nothing(void *arg) { return arg; }
static double us(create_t create, join_t join) {
  double t0 = now_s();
  for (int i = 0; i < N; i++) {
    pthread_t t;
    CHECK(!create(&t, 0, nothing, 0) && !join(t, 0), "create and join");
  }
  return (now_s() - t0) / N * 1e6;
}
static int up(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }
int main(void) {
  void *h = dlopen("libc.so.6", RTLD_NOW);
  CHECK(h, "dlopen: %s", dlerror());
  // By version they are libc's own, whatever is preloaded.
  const char *version = dlvsym(h, "pthread_join", "GLIBC_2.2.5") ? "GLIBC_2.2.5" : "GLIBC_2.17";
  create_t create = (create_t)dlvsym(h, "pthread_create", version);
  join_t join = (join_t)dlvsym(h, "pthread_join", version);
  CHECK(create && join, "dlvsym");
  double a[ROUNDS], b[ROUNDS];
  us(create, join);
  us(pthread_create, pthread_join);
  // A busy machine makes one of a pair slow now and then, hardly four times the same one.
  for (int attempt = 1;; attempt++) {
    for (int i = 0; i < ROUNDS; i++) {
      a[i] = us(create, join);
      b[i] = us(pthread_create, pthread_join);
    }
    qsort(a, ROUNDS, sizeof *a, up);
    qsort(b, ROUNDS, sizeof *b, up);
    if (b[ROUNDS / 2] < 2 * a[ROUNDS / 2] + 3) break;
    CHECK(attempt < 4, "%.1f us against %.1f us", b[ROUNDS / 2], a[ROUNDS / 2]);
  }
  INFO("libc %.1f us, here %.1f us", a[ROUNDS / 2], b[ROUNDS / 2]);
  return 0;
}
