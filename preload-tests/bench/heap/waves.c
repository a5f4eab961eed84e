// Everything at once on several threads: each keeps a live set of mixed sizes, swaps some blocks with
// the others through shared slots, grows some by realloc, and tears its set down and builds it again
// in waves. Arguments: threads, live blocks per thread, waves.
#include "bench.h"

enum { SHARED = 256 };
static _Atomic(void *) shared[SHARED];
static int live_blocks, waves;

static void *work(void *arg) {
  rng_t r = {(uintptr_t)arg * 7919 + 53};
  void **live = calloc((size_t)live_blocks, sizeof *live);
  NEED(live);
  for (int w = 0; w < waves; w++) {
    for (int i = 0; i < live_blocks; i++)
      if (!live[i]) live[i] = below(&r, 64) ? get(small_size(&r)) : get(octave_size(&r, 11, 15));
    for (int i = 0; i < live_blocks * 2; i++) {
      uint32_t k = below(&r, (uint32_t)live_blocks), what = below(&r, 16);
      if (what < 4) {
        live[k] = atomic_exchange(&shared[below(&r, SHARED)], live[k]);
        if (!live[k]) live[k] = get(small_size(&r));
      } else if (what == 4) {
        size_t n = marked(live[k]) + 1 + below(&r, 200);
        if (n < 100000) {
          live[k] = realloc(live[k], n);
          NEED(live[k]);
          mark(live[k], n);
        }
      } else {
        put(live[k]);
        live[k] = get(small_size(&r));
      }
    }
    for (int i = 0; i < live_blocks; i++)
      if (below(&r, 4)) {
        put(live[i]);
        live[i] = NULL;
      }
  }
  for (int i = 0; i < live_blocks; i++)
    if (live[i]) put(live[i]);
  free(live);
  return NULL;
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  int threads = atoi(argv[1]);
  live_blocks = atoi(argv[2]);
  waves = atoi(argv[3]);
  pthread_t t[64];
  NEED(threads >= 1 && threads <= 64);
  for (int i = 0; i < threads; i++) t[i] = spawn(work, (void *)(uintptr_t)i);
  for (int i = 0; i < threads; i++) await(t[i]);
  for (int i = 0; i < SHARED; i++)
    if (shared[i]) put(shared[i]);
  // Which thread saw which block depends on timing; that all are gone is checked by put().
  done((uint64_t)threads * (uint64_t)live_blocks * (uint64_t)waves);
}
