// Arithmetic on heap numbers of a few limbs, as a computer-algebra program does it: every operation
// allocates its result and frees its operands soon after, nearly last-in-first-out, with a slowly
// changing table of results that stay. Computes products of a running sequence modulo 2^k by
// schoolbook multiplication. Arguments: operations, largest number of limbs.
#include "bench.h"

typedef struct { uint32_t n, limb[]; } num_t;

static num_t *make(uint32_t n) {
  num_t *p = malloc(sizeof *p + n * sizeof p->limb[0]);
  NEED(p);
  p->n = n;
  return p;
}

static num_t *small(uint32_t v) {
  num_t *p = make(1);
  p->limb[0] = v | 1;
  return p;
}

static num_t *plus(const num_t *a, const num_t *b) {
  if (a->n < b->n) {
    const num_t *t = a;
    a = b;
    b = t;
  }
  num_t *p = make(a->n + 1);
  uint64_t carry = 0;
  for (uint32_t i = 0; i < a->n; i++) {
    carry += (uint64_t)a->limb[i] + (i < b->n ? b->limb[i] : 0);
    p->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  p->limb[a->n] = (uint32_t)carry;
  if (!carry) p->n--;
  return p;
}

static num_t *times(const num_t *a, uint32_t most, const num_t *b) {
  uint32_t n = a->n + b->n < most ? a->n + b->n : most;
  num_t *p = make(n);
  memset(p->limb, 0, n * sizeof p->limb[0]);
  for (uint32_t i = 0; i < a->n && i < n; i++) {
    uint64_t carry = 0;
    for (uint32_t k = 0; k < b->n && i + k < n; k++) {
      carry += (uint64_t)a->limb[i] * b->limb[k] + p->limb[i + k];
      p->limb[i + k] = (uint32_t)carry;
      carry >>= 32;
    }
    if (i + b->n < n) p->limb[i + b->n] = (uint32_t)carry;
  }
  return p;
}

int main(int argc, char **argv) {
  NEED(argc == 3);
  int ops = atoi(argv[1]);
  uint32_t most = (uint32_t)atoi(argv[2]);
  enum { KEPT = 512 };
  num_t *kept[KEPT];
  rng_t r = {47};
  for (int i = 0; i < KEPT; i++) kept[i] = small(rnd(&r));
  for (int i = 0; i < ops; i++) {
    const num_t *a = kept[below(&r, KEPT)], *b = kept[below(&r, KEPT)];
    num_t *x = small(rnd(&r)), *y = times(a, most, x), *z = plus(y, b), *w = times(z, most, x), *v = plus(w, y);
    free(w);
    free(z);
    free(y);
    free(x);
    if (below(&r, 8) == 0) {
      num_t **slot = &kept[below(&r, KEPT)];
      free(*slot);
      *slot = v->n >= most ? small(rnd(&r)) : v;
      if (*slot != v) free(v);
    } else {
      free(v);
    }
  }
  uint64_t sum = 0;
  for (int i = 0; i < KEPT; i++) {
    for (uint32_t k = 0; k < kept[i]->n; k++) sum = sum * 31 + kept[i]->limb[k];
    free(kept[i]);
  }
  done(sum);
}
