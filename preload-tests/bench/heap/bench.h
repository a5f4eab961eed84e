// What the heap programs share: a seeded random source, size distributions, blocks that carry a
// mark so that a block lost or handed out twice ends the program, and thread start-up.
//
// Every program does a fixed amount of work and prints one line that depends on its seed only, so
// that the runner can see that two allocators did the same work.
#ifndef BENCH_H
#define BENCH_H
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEED(cond)                                                    \
  do {                                                                \
    if (!(cond)) {                                                    \
      dprintf(2, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
      _exit(1);                                                       \
    }                                                                 \
  } while (0)

typedef struct { uint64_t s; } rng_t;

// A multiplicative congruence with its high half taken: three cycles, good enough to pick sizes.
static inline uint32_t rnd(rng_t *r) {
  r->s = r->s * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(r->s >> 32);
}
static inline uint32_t below(rng_t *r, uint32_t n) { return (uint32_t)((uint64_t)rnd(r) * n >> 32); }

// Sizes as programs ask for them: most are small, each doubling is half as likely; 16 to 2048.
static inline size_t small_size(rng_t *r) {
  uint32_t v = rnd(r);
  int octave = __builtin_ctz(v | 0x40);
  return ((size_t)16 << octave) + ((v >> 8) & (((size_t)16 << octave) - 1));
}
// Every octave from 2^lo to 2^hi equally likely.
static inline size_t octave_size(rng_t *r, int lo, int hi) {
  size_t base = (size_t)1 << (lo + below(r, (uint32_t)(hi - lo)));
  return base + (rnd(r) & (base - 1));
}

// A block's first word holds its size mixed with its own address: cheap to set, and it breaks when
// two owners write to one block.
static inline void mark(void *p, size_t n) { *(uint64_t *)p = n ^ (uint64_t)(uintptr_t)p; }
static inline size_t marked(const void *p) { return (size_t)(*(const uint64_t *)p ^ (uint64_t)(uintptr_t)p); }

static inline void *get(size_t n) {
  char *p = malloc(n);
  NEED(p);
  p[n - 1] = (char)n;
  mark(p, n);
  return p;
}
// Frees a block of get() and says how large it was.
static inline size_t put(void *p) {
  size_t n = marked(p);
  NEED(n >= 8 && n <= (size_t)64 << 20);
  free(p);
  return n;
}

static inline pthread_t spawn(void *(*f)(void *), void *arg) {
  pthread_t t;
  NEED(pthread_create(&t, NULL, f, arg) == 0);
  return t;
}
static inline void *await(pthread_t t) {
  void *v;
  NEED(pthread_join(t, &v) == 0);
  return v;
}
static inline void done(uint64_t sum) { printf("%016llx\n", (unsigned long long)sum); }
static inline int is(const char *a, const char *b) { return strcmp(a, b) == 0; }
#endif
