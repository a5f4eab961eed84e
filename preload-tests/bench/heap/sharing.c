// False sharing: does the heap put blocks of two threads into one cache line? `passive`: one thread
// allocates tiny neighbours and gives each thread one, which it frees; what the threads allocate
// afterwards must not land in those lines again. `active`: each thread allocates for itself. Every
// block is written many times between allocation and free. Arguments: kind, threads, rounds, writes.
#include "bench.h"

enum { SIZE = 8 };
static int rounds, writes;

static void *work(void *arg) {
  volatile char *given = arg;
  uint64_t sum = 0;
  if (given) {
    for (int k = 0; k < writes; k++) given[k & (SIZE - 1)]++;
    free((void *)given);
  }
  for (int i = 0; i < rounds; i++) {
    volatile char *p = malloc(SIZE);
    NEED(p);
    for (int k = 0; k < SIZE; k++) p[k] = 0;
    for (int k = 0; k < writes; k++) p[k & (SIZE - 1)]++;
    for (int k = 0; k < SIZE; k++) sum += (unsigned char)p[k];
    free((void *)p);
  }
  return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv) {
  NEED(argc == 5);
  int passive = is(argv[1], "passive"), threads = atoi(argv[2]);
  rounds = atoi(argv[3]);
  writes = atoi(argv[4]);
  NEED(threads >= 1 && threads <= 64);
  pthread_t t[64];
  void *given[64] = {0};
  uint64_t sum = 0;
  if (passive)
    for (int i = 0; i < threads; i++) {
      given[i] = malloc(SIZE);
      NEED(given[i]);
    }
  for (int i = 0; i < threads; i++) t[i] = spawn(work, given[i]);
  for (int i = 0; i < threads; i++) sum += (uintptr_t)await(t[i]);
  done(sum);
}
