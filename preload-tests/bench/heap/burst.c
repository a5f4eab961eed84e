// Many small blocks allocated in one go and freed in one go, again and again: how a parser, a
// request or a frame uses the heap. The order of the frees is `lifo`, `fifo` or `random`; `mixed`
// frees half of each burst in order and the rest backwards after the next burst was allocated.
// Arguments: order, threads, blocks per burst, bursts.
#include "bench.h"

static const char *order;
static int blocks, bursts;

static void *loop(void *arg) {
  rng_t r = {11 + (uintptr_t)arg};
  void **live = get(sizeof(void *) * (size_t)blocks), **kept = get(sizeof(void *) * (size_t)blocks);
  int nkept = 0;
  uint64_t sum = 0;
  for (int b = 0; b < bursts; b++) {
    for (int i = 0; i < blocks; i++) live[i] = get(small_size(&r));
    if (is(order, "lifo")) {
      for (int i = blocks; i-- > 0;) sum += put(live[i]);
    } else if (is(order, "fifo")) {
      for (int i = 0; i < blocks; i++) sum += put(live[i]);
    } else if (is(order, "random")) {
      for (int i = blocks; i > 0; i--) {
        int k = (int)below(&r, (uint32_t)i);
        sum += put(live[k]);
        live[k] = live[i - 1];
      }
    } else {
      while (nkept > 0) sum += put(kept[--nkept]);
      for (int i = 0; i < blocks; i++)
        if (i & 1) kept[nkept++] = live[i];
        else sum += put(live[i]);
    }
  }
  while (nkept > 0) sum += put(kept[--nkept]);
  free(live);
  free(kept);
  return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv) {
  NEED(argc == 5);
  order = argv[1];
  int threads = atoi(argv[2]);
  blocks = atoi(argv[3]);
  bursts = atoi(argv[4]);
  NEED(threads >= 1 && threads <= 64);
  uint64_t sum = 0;
  if (threads == 1) {
    sum = (uintptr_t)loop(NULL);
  } else {
    pthread_t t[64];
    for (int i = 0; i < threads; i++) t[i] = spawn(loop, (void *)(uintptr_t)i);
    for (int i = 0; i < threads; i++) sum += (uintptr_t)await(t[i]);
  }
  done(sum);
}
