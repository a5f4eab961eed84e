// calloc's memory is zero to its last byte, of any size, also where freed blocks full of ones lay,
// in any thread, and after realloc moved things about.
#include "check.h"
static void dirty(unsigned *s) {
  static __thread char *p[300];
  for (int i = 0; i < 300; i++) {
    size_t n = 1 + rnd(s) % (i % 20 ? 3000 : 500000);
    p[i] = malloc(n);
    CHECK(p[i], "malloc");
    memset(p[i], 0xff, n);
  }
  for (int i = 0; i < 300; i++) free(p[i ^ 1]);
}
static void *body(void *arg) {
  unsigned s = (unsigned)(long)arg + 5;
  for (int round = 0; round < 12; round++) {
    dirty(&s);
    for (int i = 0; i < 120; i++) {
      size_t n = 1 + rnd(&s) % (1U << (3 + rnd(&s) % 18)), m = 1 + rnd(&s) % 3;
      unsigned char *p = calloc(m, n);
      CHECK(p, "calloc");
      for (size_t k = 0; k < m * n; k++) CHECK(!p[k], "byte %zu of calloc(%zu, %zu) is %d", k, m, n, p[k]);
      memset(p, 0xff, m * n);
      free(p);
    }
  }
  unsigned char *big = malloc(30 << 20);
  memset(big, 0xff, 30 << 20);
  free(big);
  big = calloc(30, 1 << 20);
  for (size_t k = 0; k < 30 << 20; k++) CHECK(!big[k], "byte %zu of a large block", k);
  free(big);
  return arg;
}
int main(void) {
  pthread_t t[2];
  body((void *)9L);
  for (long i = 0; i < 2; i++) t[i] = start(0, body, (void *)i);
  for (int i = 0; i < 2; i++) finish(t[i]);
  return 0;
}
