// Producers allocate, consumers free, for millions of blocks of one size and of many: memory stays
// near what is alive, and every block arrives whole.
// variant: -DMANY=0
// variant: -DMANY=1
#include "check.h"
#include <semaphore.h>
enum { PAIRS = 2, RING = 512, TURNS = 250000 };
static struct ring {
  unsigned char *slot[RING];
  unsigned head __attribute__((aligned(64))), tail __attribute__((aligned(64)));
} ring[PAIRS];
static size_t len(unsigned i) { return MANY ? 16 + i * 7919u % (i % 64 ? 900 : 30000) : 96; }
static void *produce(void *v) {
  struct ring *r = v;
  for (unsigned i = 0; i < TURNS; i++) {
    while (i - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) == RING) sched_yield();
    unsigned char *p = malloc(len(i));
    CHECK(p, "malloc");
    p[0] = p[len(i) - 1] = (unsigned char)i;
    r->slot[i % RING] = p;
    __atomic_store_n(&r->head, i + 1, __ATOMIC_RELEASE);
  }
  return v;
}
static void *consume(void *v) {
  struct ring *r = v;
  for (unsigned i = 0; i < TURNS; i++) {
    while (__atomic_load_n(&r->head, __ATOMIC_ACQUIRE) == i) sched_yield();
    unsigned char *p = r->slot[i % RING];
    CHECK(p[0] == (unsigned char)i && p[len(i) - 1] == (unsigned char)i, "block %u changed", i);
    free(p);
    __atomic_store_n(&r->tail, i + 1, __ATOMIC_RELEASE);
  }
  return v;
}
int main(void) {
  pthread_t t[2 * PAIRS];
  long rss = status_kb("VmRSS"), most = 0;
  for (int i = 0; i < PAIRS; i++) {
    t[2 * i] = start(0, produce, &ring[i]);
    t[2 * i + 1] = start(0, consume, &ring[i]);
  }
  for (int i = 0; i < PAIRS; i++)
    while (__atomic_load_n(&ring[i].tail, __ATOMIC_ACQUIRE) < TURNS) {
      long now = status_kb("VmRSS") - rss;
      if (now > most) most = now;
      nap_ms(5);
    }
  for (int i = 0; i < 2 * PAIRS; i++) finish(t[i]);
  // Alive are at most 2 * 512 blocks: less than 1 MB.
  CHECK(most < 16 << 10, "VmRSS grew %ld kB", most);
  INFO("VmRSS +%ld kB at most", most);
  return 0;
}
