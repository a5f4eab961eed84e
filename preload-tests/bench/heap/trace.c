// A made-up application trace: sizes lean to the small, lifetimes come in three kinds (most blocks
// die after a few others were born, some after thousands, a few at the end), now and then a block is
// grown, a burst of equal blocks is born, or a buffer of up to 256 KiB passes through. With two
// threads one block in sixteen is freed by the other one. Arguments: threads, births.
#include "bench.h"

typedef struct block {
  uint64_t size;
  struct block *next;
} block_t;

enum { WHEEL = 1 << 15, CROSS = 64 };
static int births, threads;
static _Atomic(block_t *) cross[2];

static uint64_t drop(block_t *b) {
  uint64_t sum = 0;
  for (block_t *next; b; b = next) {
    next = b->next;
    sum += put(b);
  }
  return sum;
}

static void *play(void *arg) {
  uintptr_t me = (uintptr_t)arg;
  rng_t r = {me * 104729 + 61};
  block_t **wheel = calloc(WHEEL, sizeof *wheel);
  NEED(wheel);
  block_t *end = NULL, *away = NULL;
  int naway = 0, burst = 0;
  size_t size = 16;
  for (int now = 0; now < births; now++) {
    drop(wheel[now % WHEEL]);
    wheel[now % WHEEL] = NULL;
    if (burst > 0) {
      burst--;
    } else {
      uint32_t what = below(&r, 1024);
      size = what == 0 ? octave_size(&r, 14, 18) : what < 12 ? octave_size(&r, 11, 14) : small_size(&r);
      if (what >= 1000) burst = (int)below(&r, 64);
      if (size > 2048) burst = 0;
    }
    block_t *b = get(size);
    if (size < 1024 && below(&r, 128) == 0) {
      b = realloc(b, size * 2);
      NEED(b);
      mark(b, size * 2);
    }
    if (threads > 1 && below(&r, 16) == 0) {
      b->next = away;
      away = b;
      if (++naway == CROSS) {
        // The other side's batch is mine to free, and mine is its.
        drop(atomic_exchange(&cross[me], NULL));
        drop(atomic_exchange(&cross[!me], away));
        away = NULL;
        naway = 0;
      }
      continue;
    }
    uint32_t kind = below(&r, 100);
    if (kind == 0 && size < 2048) {
      b->next = end;
      end = b;
      continue;
    }
    int at = (now + 1 + (int)(kind < 80 ? below(&r, 16) : below(&r, WHEEL - 2))) % WHEEL;
    b->next = wheel[at];
    wheel[at] = b;
  }
  for (int i = 0; i < WHEEL; i++) drop(wheel[i]);
  drop(end);
  drop(away);
  free(wheel);
  return NULL;
}

int main(int argc, char **argv) {
  NEED(argc == 3);
  threads = atoi(argv[1]);
  births = atoi(argv[2]);
  NEED(threads == 1 || threads == 2);
  pthread_t t[2];
  if (threads == 1) {
    play(NULL);
  } else {
    for (int i = 0; i < 2; i++) t[i] = spawn(play, (void *)(uintptr_t)i);
    for (int i = 0; i < 2; i++) await(t[i]);
    for (int i = 0; i < 2; i++) drop(cross[i]);
  }
  done((uint64_t)threads * (uint64_t)births);
}
