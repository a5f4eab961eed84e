// Buffers that grow by realloc, as strings, vectors and read loops do. `vector` grows several large
// buffers in turn by half again, up to 16 MiB; `append` grows many small ones by a few bytes at a
// time; `step` grows one at a time by a page up to 4 MiB, with a small block allocated in between.
// Arguments: kind, rounds.
#include "bench.h"

static char *more(char *p, size_t old, size_t n) {
  char first = p ? p[0] : 0, last = p ? p[old - 1] : 0;
  p = realloc(p, n);
  NEED(p);
  NEED(old == 0 || (p[0] == first && p[old - 1] == last));
  memset(p + old, (int)(n & 0x7f) | 1, n - old);
  return p;
}

int main(int argc, char **argv) {
  NEED(argc == 3);
  int rounds = atoi(argv[2]);
  uint64_t sum = 0;
  rng_t r = {23};
  for (int k = 0; k < rounds; k++) {
    if (is(argv[1], "vector")) {
      char *v[4] = {0};
      size_t n[4] = {0};
      for (size_t size = 64; size < (size_t)16 << 20; size += size / 2)
        for (int i = 0; i < 4; i++) {
          v[i] = more(v[i], n[i], size + (size_t)i * 8);
          n[i] = size + (size_t)i * 8;
        }
      for (int i = 0; i < 4; i++) {
        sum += n[i] + (uint64_t)v[i][n[i] - 1];
        free(v[i]);
      }
    } else if (is(argv[1], "append")) {
      enum { N = 512 };
      char *v[N] = {0};
      size_t n[N] = {0};
      for (int i = 0; i < N * 64; i++) {
        uint32_t w = below(&r, N);
        size_t size = n[w] + 1 + below(&r, 40);
        v[w] = more(v[w], n[w], size);
        n[w] = size;
      }
      for (int i = 0; i < N; i++) {
        sum += n[i];
        free(v[i]);
      }
    } else {
      char *v = NULL, *between[1024];
      size_t n = 0;
      for (int i = 0; i < 1024; i++) {
        v = more(v, n, n + 4096);
        n += 4096;
        between[i] = get(100);
      }
      for (int i = 0; i < 1024; i++) sum += put(between[i]);
      sum += n;
      free(v);
    }
  }
  done(sum);
}
