// Binary trees built bottom-up, walked and torn down, beside one large tree that lives throughout:
// one tiny size in huge numbers. Arguments: threads, depth, how many short-lived trees.
#include "bench.h"

typedef struct node { struct node *l, *r; } node_t;

static node_t *build(int depth) {
  node_t *n = malloc(sizeof *n);
  NEED(n);
  n->l = depth ? build(depth - 1) : NULL;
  n->r = depth ? build(depth - 1) : NULL;
  return n;
}
static uint64_t count(const node_t *n) { return n ? 1 + count(n->l) + count(n->r) : 0; }
static void fell(node_t *n) {
  if (!n) return;
  fell(n->l);
  fell(n->r);
  free(n);
}

static int depth, trees;

static void *grove(void *arg) {
  (void)arg;
  node_t *old = build(depth);
  uint64_t sum = 0;
  for (int d = 4; d <= depth; d += 4)
    for (int i = 0; i < trees << (depth - d) >> (depth / 2); i++) {
      node_t *t = build(d);
      sum += count(t);
      fell(t);
    }
  sum += count(old);
  fell(old);
  return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  int threads = atoi(argv[1]);
  depth = atoi(argv[2]);
  trees = atoi(argv[3]);
  uint64_t sum = 0;
  NEED(threads >= 1 && threads <= 64);
  if (threads == 1) {
    sum = (uintptr_t)grove(NULL);
  } else {
    pthread_t t[64];
    for (int i = 0; i < threads; i++) t[i] = spawn(grove, NULL);
    for (int i = 0; i < threads; i++) sum += (uintptr_t)await(t[i]);
  }
  done(sum);
}
