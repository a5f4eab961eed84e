// A server under load: each worker owns a table of live blocks and replaces them at random; after a
// while it ends and hands its table to a fresh thread, so most blocks die in another thread than
// the one that was born with them. Arguments: workers, table size, generations, operations.
#include "bench.h"

typedef struct {
  void **table;
  int size, ops;
  rng_t r;
  uint64_t sum;
} shift_t;

static void *work(void *arg) {
  shift_t *s = arg;
  for (int i = 0; i < s->ops; i++) {
    uint32_t k = below(&s->r, (uint32_t)s->size);
    s->sum += put(s->table[k]);
    s->table[k] = get(8 + below(&s->r, 500));
  }
  return NULL;
}

int main(int argc, char **argv) {
  NEED(argc == 5);
  int workers = atoi(argv[1]), size = atoi(argv[2]), generations = atoi(argv[3]), ops = atoi(argv[4]);
  shift_t s[64];
  pthread_t t[64];
  NEED(workers >= 1 && workers <= 64);
  for (int w = 0; w < workers; w++) {
    s[w] = (shift_t){get(sizeof(void *) * (size_t)size), size, ops, {(uint64_t)w + 1}, 0};
    for (int i = 0; i < size; i++) s[w].table[i] = get(8 + below(&s[w].r, 500));
  }
  for (int g = 0; g < generations; g++) {
    for (int w = 0; w < workers; w++) t[w] = spawn(work, &s[w]);
    for (int w = 0; w < workers; w++) await(t[w]);
    // The next generation takes over its neighbour's table.
    void **first = s[0].table;
    for (int w = 0; w + 1 < workers; w++) s[w].table = s[w + 1].table;
    s[workers - 1].table = first;
  }
  uint64_t sum = 0;
  for (int w = 0; w < workers; w++) {
    for (int i = 0; i < size; i++) sum += put(s[w].table[i]);
    sum += s[w].sum;
    free(s[w].table);
  }
  done(sum);
}
