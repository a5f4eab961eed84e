// The real-time recipe: tell malloc to keep memory, lock, allocate a pool, touch it, free it.
// Whatever is allocated below the size of the pool from then on, of whatever sizes and by whatever
// calls, takes no page fault.
// variant: -DMIX=0
// variant: -DMIX=1
// variant: -DMIX=2
// variant: -DMIX=3
// variant: -DMIX=4
// variant: -DMIX=5
// variant: -DMIX=6
// variant: -DMIX=0 -DPIECE=(1<<20)
// variant: -DMIX=0 -DPIECE=5000
// variant: -DMIX=3 -DPIECE=300
#include "check.h"
#include <malloc.h>
enum { POOL = 24 << 20, LIVE = 10 << 20, SLOTS = 400 };
#ifndef PIECE
#define PIECE POOL
#endif
static unsigned s = 12345;
static size_t pick(void) {
  switch (MIX) {
    case 1: return 1 + rnd(&s) % 500;
    case 2: return 1000 + rnd(&s) % 32000;
    case 3: return 100000 + rnd(&s) % 1500000;
    default: return 1 + rnd(&s) % (rnd(&s) & 64 ? 300000 : 2000);
  }
}
static char *get(size_t n) {
  void *p = 0;
  switch (MIX) {
    case 4:
      if (posix_memalign(&p, 16UL << rnd(&s) % 9, n)) return 0;
      return p;
    case 5: return realloc(malloc(1 + n / (1 + rnd(&s) % 8)), n);
    case 6: return calloc(1, n);
    default: return malloc(n);
  }
}
int main(void) {
  static char *pool[POOL / 300 + 1], *q[SLOTS];
  static size_t live[SLOTS];
  CHECK(mallopt(M_TRIM_THRESHOLD, -1) == 1, "M_TRIM_THRESHOLD");
  CHECK(mallopt(M_MMAP_MAX, 0) == 1, "M_MMAP_MAX");
  lock_all(MCL_CURRENT | MCL_FUTURE);
  size_t pieces = POOL / PIECE, total = 0;
  for (size_t i = 0; i < pieces; i++) {
    pool[i] = malloc(PIECE);
    CHECK(pool[i], "pool");
    for (size_t k = 0; k < PIECE; k += 4096) pool[i][k] = 1;
  }
  for (size_t i = 0; i < pieces; i++) free(pool[i]);
  long f = faults(RUSAGE_SELF);
  for (int i = 0; i < 20000; i++) {
    unsigned k = rnd(&s) % SLOTS;
    if (q[k]) {
      free(q[k]);
      total -= live[k];
      q[k] = 0;
      continue;
    }
    size_t n = pick();
    if (total + n > LIVE) continue;
    q[k] = get(n);
    CHECK(q[k], "%zu bytes", n);
    memset(q[k], (int)k, n);
    live[k] = n;
    total += n;
  }
  f = faults(RUSAGE_SELF) - f;
  CHECK(f <= 16, "%ld page faults after the pool was locked and touched", f);
  for (int i = 0; i < SLOTS; i++) free(q[i]);
  INFO("%ld page faults", f);
  return 0;
}
