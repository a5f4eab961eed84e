// Threads come and go and leave blocks behind: each lives briefly, allocates, frees a part and dies;
// what it left is freed by whoever comes later. Arguments: threads alive at once, rounds, blocks.
#include "bench.h"

typedef struct {
  void **old, **left;
  int n;
  rng_t r;
  uint64_t sum;
} life_t;

static void *live(void *arg) {
  life_t *l = arg;
  void **mine = get(sizeof(void *) * (size_t)l->n);
  for (int i = 0; i < l->n; i++) mine[i] = get(small_size(&l->r));
  for (int i = 0; i < l->n / 2; i++) l->sum += put(mine[i]);
  if (l->old) {
    for (int i = 0; i < l->n / 2; i++) l->sum += put(l->old[i]);
    free(l->old);
  }
  l->left = get(sizeof(void *) * (size_t)(l->n / 2));
  memcpy(l->left, mine + l->n / 2, sizeof(void *) * (size_t)(l->n / 2));
  free(mine);
  return NULL;
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  int threads = atoi(argv[1]), rounds = atoi(argv[2]), n = atoi(argv[3]) & ~1;
  life_t l[64];
  pthread_t t[64];
  NEED(threads >= 1 && threads <= 64);
  for (int i = 0; i < threads; i++) l[i] = (life_t){NULL, NULL, n, {(uint64_t)i + 5}, 0};
  for (int k = 0; k < rounds; k++) {
    for (int i = 0; i < threads; i++) t[i] = spawn(live, &l[i]);
    for (int i = 0; i < threads; i++) await(t[i]);
    for (int i = 0; i < threads; i++) l[(i + 1) % threads].old = l[i].left;
  }
  uint64_t sum = 0;
  for (int i = 0; i < threads; i++) {
    for (int k = 0; k < n / 2; k++) sum += put(l[i].left[k]);
    free(l[i].left);
    sum += l[i].sum;
  }
  done(sum);
}
