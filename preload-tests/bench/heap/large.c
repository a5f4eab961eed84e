// Large blocks, 5 to 25 MiB, as image and matrix programs use them: a few are alive, each is written
// to once per page and freed. What is measured is whether freed memory is kept or faulted in again.
// Arguments: live blocks, rounds.
#include "bench.h"

int main(int argc, char **argv) {
  NEED(argc == 3);
  int n = atoi(argv[1]), rounds = atoi(argv[2]);
  char *live[64] = {0};
  NEED(n >= 1 && n <= 64);
  rng_t r = {17};
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    uint32_t k = below(&r, (uint32_t)n);
    if (live[k]) sum += put(live[k]);
    size_t size = ((size_t)5 << 20) + below(&r, 20u << 20);
    live[k] = get(size);
    for (size_t o = 4096; o < size; o += 4096) live[k][o] = (char)o;
  }
  for (int i = 0; i < n; i++)
    if (live[i]) sum += put(live[i]);
  done(sum);
}
