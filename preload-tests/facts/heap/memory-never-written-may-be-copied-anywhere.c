// What a fresh block holds is the program's to copy, also back to the very address it was read at:
// no content of a live block makes free or realloc take it for a freed one.
#include "check.h"
#include <malloc.h>
enum { N = 20000, SMALL = 64, PART = 8192, PARTS = 200 };
static char *block[N];

static void leave_free_blocks_behind(void) {
  for (int i = 0; i < N; i++) CHECK(block[i] = malloc(SMALL), "%d", i);
  for (int i = 0; i < N; i++) free(block[i]);
}

// Small blocks inside [old, old + len) get what was there, from the copy.
static int restore(const char *old, size_t len, const char *copy) {
  int hits = 0;
  for (int i = 0; i < N; i++) {
    char *p = malloc(SMALL);
    CHECK(p, "%d", i);
    block[i] = p;
    if ((uintptr_t)p < (uintptr_t)old || (uintptr_t)p >= (uintptr_t)old + len - SMALL) continue;
    hits++;
    size_t at = (uintptr_t)p - (uintptr_t)old;
    memcpy(p, copy + at, SMALL);
    CHECK(malloc_usable_size(p) >= SMALL, "%zu", malloc_usable_size(p));
    CHECK(p = realloc(p, SMALL - 8), "realloc");
    CHECK(!memcmp(p, copy + at, SMALL - 8), "a block changed");
    free(p);
    block[i] = NULL;
  }
  for (int i = 0; i < N; i++) free(block[i]);
  return hits;
}

int main(void) {
  leave_free_blocks_behind();
  char *big = malloc(1000000), *old = big, *behind = malloc(100000);
  CHECK(big && behind, "malloc");
  CHECK(big = realloc(big, 64 << 20), "realloc");
  int hits = restore(old, 1000000, big);
  free(big);
  free(behind);

  leave_free_blocks_behind();
  static char *part[PARTS], *copy[PARTS];
  for (int i = 0; i < PARTS; i++) CHECK(part[i] = malloc(PART), "%d", i);
  for (int i = 0; i < PARTS; i++) {
    CHECK(copy[i] = malloc(PART), "%d", i);
    memcpy(copy[i], part[i], PART);
  }
  for (int i = 0; i < PARTS; i++) free(part[i]);
  for (int i = 0; i < PARTS; i++) hits += restore(part[i], PART, copy[i]);
  INFO("%d blocks restored where they came from", hits);
  return 0;
}
