// calloc above all: small zeroed records and zeroed buffers up to 64 KiB, each checked to be zero at
// both ends and dirtied before it is freed. Arguments: live blocks, rounds.
#include "bench.h"

int main(int argc, char **argv) {
  NEED(argc == 3);
  uint32_t n = (uint32_t)atoi(argv[1]);
  int rounds = atoi(argv[2]);
  unsigned char **live = calloc(n, sizeof *live);
  size_t *size = calloc(n, sizeof *size);
  NEED(live && size);
  rng_t r = {31};
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    uint32_t k = below(&r, n);
    if (live[k]) {
      sum += size[k];
      memset(live[k], 0xa5, size[k]);
      free(live[k]);
    }
    size[k] = below(&r, 16) ? small_size(&r) : octave_size(&r, 11, 16);
    live[k] = calloc(1, size[k]);
    NEED(live[k] && live[k][0] == 0 && live[k][size[k] / 2] == 0 && live[k][size[k] - 1] == 0);
  }
  for (uint32_t i = 0; i < n; i++) free(live[i]);
  free(live);
  free(size);
  done(sum);
}
