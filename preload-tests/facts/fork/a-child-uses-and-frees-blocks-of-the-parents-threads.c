// Blocks that the parent's threads allocated are whole in a forked child, which resizes and frees
// them though their threads are gone, and gets as much memory again from what it freed.
#include "check.h"
enum { THREADS = 6, EACH = 2000 };
static unsigned char *block[THREADS][EACH];
static size_t size[THREADS][EACH];
static pthread_barrier_t in, out;
static void *fill(void *arg) {
  long n = (long)arg;
  unsigned s = (unsigned)n + 17;
  for (int i = 0; i < EACH; i++) {
    size[n][i] = 1 + rnd(&s) % (i % 50 ? 2000 : 200000);
    block[n][i] = malloc(size[n][i]);
    CHECK(block[n][i], "malloc");
    memset(block[n][i], (int)(n + i), size[n][i]);
  }
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  return 0;
}
static void check_and_free(int resize) {
  for (int n = 0; n < THREADS; n++)
    for (int i = 0; i < EACH; i++) {
      unsigned char *p = block[n][i], v = (unsigned char)(n + i);
      size_t len = size[n][i];
      CHECK(p[0] == v && p[len / 2] == v && p[len - 1] == v, "block %d of thread %d changed", i, n);
      if (resize && i % 3 == 0) {
        p = realloc(p, len * 2);
        CHECK(p && p[0] == v && p[len - 1] == v, "resized block");
      }
      free(p);
    }
}
int main(void) {
  pthread_t t[THREADS];
  pthread_barrier_init(&in, 0, THREADS + 1);
  pthread_barrier_init(&out, 0, THREADS + 1);
  for (long i = 0; i < THREADS; i++) t[i] = start(0, fill, (void *)i);
  pthread_barrier_wait(&in);
  for (int k = 0; k < 4; k++) {
    pid_t p = fork();
    CHECK(p >= 0, "fork");
    if (!p) {
      alarm(20);
      long rss = status_kb("VmRSS");
      check_and_free(k % 2);
      pthread_barrier_init(&in, 0, THREADS + 1);
      pthread_barrier_init(&out, 0, THREADS + 1);
      for (int round = 0; round < 4; round++) {
        for (long i = 0; i < THREADS; i++) t[i] = start(0, fill, (void *)i);
        pthread_barrier_wait(&in);
        pthread_barrier_wait(&out);
        for (int i = 0; i < THREADS; i++) finish(t[i]);
        check_and_free(0);
      }
      CHECK(status_kb("VmRSS") - rss < rss + (40 << 10), "VmRSS went from %ld to %ld kB", rss, status_kb("VmRSS"));
      exit(0);
    }
    child_ok(p, "child");
  }
  pthread_barrier_wait(&out);
  for (int i = 0; i < THREADS; i++) finish(t[i]);
  check_and_free(1);
  return 0;
}
