// A model of the heap: four threads do random calls of every kind on shared slots, so that blocks
// are resized and freed by threads that did not make them. Contents survive, calloc's memory is
// zero, alignments hold, no two blocks overlap. HEAP_SEED names other seeds.
#include "check.h"
#include <malloc.h>
enum { THREADS = 4, SLOTS = 3000, TURNS = 60000 };
struct block {
  unsigned char *p;
  size_t n;
  uint32_t tag;
};
static struct {
  pthread_mutex_t mu;
  struct block b;
} slot[SLOTS];
static unsigned seed;
static uint32_t tags;
static unsigned char at(uint32_t tag, size_t i) { return (unsigned char)((tag * 2654435761u >> 24) + i * 13 + (i >> 7)); }
static size_t stride(size_t n) { return n > 4096 ? 97 : 1; }
static void fill(struct block *b) {
  b->tag = __atomic_add_fetch(&tags, 1, __ATOMIC_RELAXED);
  size_t u = malloc_usable_size(b->p);
  CHECK(u >= b->n, "seed %u: usable size %zu of %zu", seed, u, b->n);
  b->n = u;
  for (size_t i = 0; i < b->n; i++) b->p[i] = at(b->tag, i);
}
static void check(struct block *b, size_t n) {
  for (size_t i = 0; i < n; i += stride(n))
    CHECK(b->p[i] == at(b->tag, i), "seed %u: byte %zu of %zu at %p changed", seed, i, b->n, (void *)b->p);
  if (n) CHECK(b->p[n - 1] == at(b->tag, n - 1), "seed %u: the last byte of %zu at %p changed", seed, b->n, (void *)b->p);
}
static size_t pick(unsigned *s) {
  unsigned r = rnd(s) % 1000;
  if (r < 700) return rnd(s) % 300;
  if (r < 930) return rnd(s) % 5000;
  if (r < 990) return rnd(s) % 70000;
  return rnd(s) % 1000000;
}
static void turn(struct block *b, unsigned *s) {
  size_t n = pick(s), al = 16;
  void *q = 0;
  if (b->p) {
    check(b, b->n);
    if (rnd(s) % 3 == 0) {
      size_t keep = b->n < n ? b->n : n;
      q = rnd(s) % 2 || !n ? realloc(b->p, n + 1) : reallocarray(b->p, n, 1);
      CHECK(q && !((uintptr_t)q % 16), "seed %u: realloc to %zu gave %p", seed, n, q);
      b->p = q;
      check(b, keep);
      b->n = n;
      fill(b);
      return;
    }
    free(b->p);
    b->p = 0;
    return;
  }
  switch (rnd(s) % 8) {
    case 0: {
      size_t k = 1 + rnd(s) % 3;
      unsigned char *z = calloc(k, n / k);
      CHECK(z, "calloc");
      n = n / k * k;
      for (size_t i = 0; i < n; i++) CHECK(!z[i], "seed %u: byte %zu of calloc(%zu) is not zero", seed, i, n);
      q = z;
      break;
    }
    case 1:
      al = 8UL << rnd(s) % 12;
      CHECK(!posix_memalign(&q, al, n), "posix_memalign");
      break;
    case 2:
      al = 16UL << rnd(s) % 9;
      q = rnd(s) % 2 ? memalign(al, n) : aligned_alloc(al, n);
      break;
    default: q = malloc(n);
  }
  CHECK(q && !((uintptr_t)q % al), "seed %u: %zu bytes aligned to %zu at %p", seed, n, al, q);
  b->p = q;
  b->n = n;
  fill(b);
}
static void *body(void *arg) {
  unsigned s = seed + (unsigned)(long)arg * 7919u;
  if (!s) s = 1;
  for (int i = 0; i < TURNS; i++) {
    unsigned k = rnd(&s) % SLOTS;
    if (rnd(&s) % 4) k = k / THREADS * THREADS + (unsigned)(long)arg;
    if (pthread_mutex_trylock(&slot[k].mu)) continue;
    turn(&slot[k].b, &s);
    pthread_mutex_unlock(&slot[k].mu);
  }
  return arg;
}
static int up(const void *a, const void *b) {
  const struct block *x = a, *y = b;
  return x->p < y->p ? -1 : x->p > y->p;
}
int main(void) {
  const char *e = getenv("HEAP_SEED");
  seed = e ? (unsigned)strtoul(e, 0, 0) : 20210;
  for (int i = 0; i < SLOTS; i++) pthread_mutex_init(&slot[i].mu, 0);
  for (int round = 0; round < 3; round++, seed++) {
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) t[i] = start(0, body, (void *)i);
    for (int i = 0; i < THREADS; i++) finish(t[i]);
    static struct block all[SLOTS];
    int n = 0;
    for (int i = 0; i < SLOTS; i++)
      if (slot[i].b.p) {
        check(&slot[i].b, slot[i].b.n);
        all[n++] = slot[i].b;
      }
    qsort(all, (size_t)n, sizeof *all, up);
    for (int i = 1; i < n; i++)
      CHECK(all[i - 1].p + all[i - 1].n <= all[i].p, "seed %u: %p+%zu and %p overlap", seed, (void *)all[i - 1].p,
            all[i - 1].n, (void *)all[i].p);
    CHECK(n > SLOTS / 4, "only %d blocks are alive", n);
  }
  for (int i = 0; i < SLOTS; i++) free(slot[i].b.p);
  INFO("seeds from %u", seed - 3);
  return 0;
}
