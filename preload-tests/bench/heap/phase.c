// A program that changes its mind: a large random live set of many sizes, 90 % of it freed at
// random, then other sizes allocated; the holes the first phase left must serve the second one.
// Peak RSS tells as much as the time. Arguments: live blocks, phases, replacements per phase.
#include "bench.h"

int main(int argc, char **argv) {
  NEED(argc == 4);
  uint32_t n = (uint32_t)atoi(argv[1]);
  int phases = atoi(argv[2]), churn = atoi(argv[3]);
  void **live = calloc(n, sizeof *live);
  NEED(live);
  rng_t r = {99};
  uint64_t sum = 0;
  for (int p = 0; p < phases; p++) {
    // Each phase asks for its own band of sizes.
    int lo = 4 + p % 4;
    for (uint32_t i = 0; i < n; i++)
      if (!live[i]) live[i] = get(octave_size(&r, lo, lo + 4));
    for (int i = 0; i < churn; i++) {
      uint32_t k = below(&r, n);
      sum += put(live[k]);
      live[k] = get(octave_size(&r, lo, lo + 4));
    }
    for (uint32_t i = 0; i < n; i++)
      if (below(&r, 10)) {
        sum += put(live[i]);
        live[i] = NULL;
      }
  }
  for (uint32_t i = 0; i < n; i++)
    if (live[i]) sum += put(live[i]);
  free(live);
  done(sum);
}
