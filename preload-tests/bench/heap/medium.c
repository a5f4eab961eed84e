// Blocks between the small classes and the mappings, 8 to 128 KiB: I/O buffers, rows, tiles. A live
// set with random replacement, every page of a block written. Arguments: live blocks, rounds.
#include "bench.h"

int main(int argc, char **argv) {
  NEED(argc == 3);
  uint32_t n = (uint32_t)atoi(argv[1]);
  int rounds = atoi(argv[2]);
  char **live = calloc(n, sizeof *live);
  NEED(live);
  rng_t r = {41};
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    uint32_t k = below(&r, n);
    if (live[k]) sum += put(live[k]);
    size_t size = octave_size(&r, 13, 17);
    live[k] = get(size);
    for (size_t o = 4096; o < size; o += 4096) live[k][o] = (char)o;
  }
  for (uint32_t i = 0; i < n; i++)
    if (live[i]) sum += put(live[i]);
  free(live);
  done(sum);
}
