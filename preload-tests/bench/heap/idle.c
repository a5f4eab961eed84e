// Many arenas, most of them idle: threads allocate, free nearly everything and then sleep for good
// while the main thread goes on alone. Memory that sleeps with them shows in peak RSS.
// Arguments: sleeping threads, KiB each of them used once, operations of the main thread.
#include "bench.h"

static int kib;
static pthread_barrier_t ready, over;

static void *sleeper(void *arg) {
  rng_t r = {(uintptr_t)arg + 1};
  enum { MAX = 4096 };
  void *b[MAX];
  int n = 0;
  for (size_t used = 0; used < (size_t)kib << 10 && n < MAX;) {
    size_t size = octave_size(&r, 5, 12);
    b[n++] = get(size);
    used += size;
  }
  for (int i = 1; i < n; i++) put(b[i]);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&over);
  return (void *)(uintptr_t)put(b[0]);
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  int threads = atoi(argv[1]), ops = atoi(argv[3]);
  kib = atoi(argv[2]);
  pthread_t t[256];
  NEED(threads >= 1 && threads <= 256);
  pthread_barrier_init(&ready, NULL, 2);
  pthread_barrier_init(&over, NULL, (unsigned)threads + 1);
  // One after the other, so that the peak is what the sleepers hold and not what they shared.
  for (int i = 0; i < threads; i++) {
    t[i] = spawn(sleeper, (void *)(uintptr_t)i);
    pthread_barrier_wait(&ready);
  }
  enum { LIVE = 20000 };
  void **live = calloc(LIVE, sizeof *live);
  NEED(live);
  rng_t r = {37};
  uint64_t sum = 0;
  for (int i = 0; i < ops; i++) {
    uint32_t k = below(&r, LIVE);
    if (live[k]) sum += put(live[k]);
    live[k] = get(octave_size(&r, 5, 10));
  }
  for (int i = 0; i < LIVE; i++)
    if (live[i]) sum += put(live[i]);
  free(live);
  pthread_barrier_wait(&over);
  for (int i = 0; i < threads; i++) sum += (uintptr_t)await(t[i]);
  done(sum);
}
