// Aligned blocks, as vector code, page caches and C++17's new ask for them: alignments 32 to 4096,
// sizes small and medium, mixed with plain blocks in one live set. Arguments: live blocks, rounds.
#include "bench.h"

int main(int argc, char **argv) {
  NEED(argc == 3);
  uint32_t n = (uint32_t)atoi(argv[1]);
  int rounds = atoi(argv[2]);
  void **live = calloc(n, sizeof *live);
  NEED(live);
  rng_t r = {29};
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    uint32_t k = below(&r, n);
    if (live[k]) sum += put(live[k]);
    // Cache lines are the most wanted alignment, pages the rarest.
    uint32_t v = rnd(&r);
    size_t align = (size_t)32 << (v & 1 ? 1 : __builtin_ctz(v >> 1 | 0x80));
    size_t size = align + below(&r, 1000);
    void *p = NULL;
    if (v & 1 << 20) {
      NEED(posix_memalign(&p, align, size) == 0);
    } else if (v & 1 << 21) {
      p = aligned_alloc(align, size + align - size % align);
    } else {
      align = 16;
      p = malloc(size);
    }
    NEED(p && ((uintptr_t)p & (align - 1)) == 0);
    mark(p, size);
    live[k] = p;
  }
  for (uint32_t i = 0; i < n; i++)
    if (live[i]) sum += put(live[i]);
  free(live);
  done(sum);
}
