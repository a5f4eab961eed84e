// The simplest loop there is: malloc and free in turn. `one` asks for one size, `many` for sizes
// that change with every call and keeps a handful of blocks alive. The second argument is the
// number of threads, none of which shares a block with another.
#include "bench.h"

static int many;

static void *loop(void *arg) {
  uint64_t sum = 0;
  long rounds = *(long *)arg;
  rng_t r = {7};
  if (!many) {
    for (long i = 0; i < rounds; i++) {
      void *p = get(48);
      sum += put(p);
    }
  } else {
    void *live[8];
    for (int i = 0; i < 8; i++) live[i] = get(16);
    for (long i = 0; i < rounds; i++) {
      void **slot = &live[i & 7];
      sum += put(*slot);
      *slot = get(small_size(&r));
    }
    for (int i = 0; i < 8; i++) sum += put(live[i]);
  }
  return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  many = is(argv[1], "many");
  int threads = atoi(argv[2]);
  long rounds = atol(argv[3]);
  uint64_t sum = 0;
  if (threads == 1) {
    sum = (uintptr_t)loop(&rounds);
  } else {
    pthread_t t[64];
    NEED(threads <= 64);
    for (int i = 0; i < threads; i++) t[i] = spawn(loop, &rounds);
    for (int i = 0; i < threads; i++) sum += (uintptr_t)await(t[i]);
  }
  done(sum);
}
