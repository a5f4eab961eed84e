// limits: -v 600000
// env: MALLOC_ARENA_MAX=1
// constructor: skip the limit is about one process's only block
// Under a limit of address space a block grows while the block itself fits: the old and the new
// one are never needed at once. What was there stays.
#include "check.h"
int main(void) {
  size_t mib = 1 << 20, size = 320 * mib, most = 512 * mib;
  unsigned char *p = malloc(size);
  CHECK(p, "malloc");
  void *behind = malloc(200000);
  CHECK(behind, "malloc");
  memset(p, 7, 32 * mib);
  for (; size < most; size += 64 * mib) {
    unsigned char *q = realloc(p, size);
    CHECK(q, "%zu MiB: %s", size / mib, strerror(errno));
    p = q;
    for (size_t i = 0; i < 32 * mib; i += 4096) CHECK(p[i] == 7, "%zu of %zu MiB", i, size / mib);
    p[size - 1] = 1;
    // What is mapped behind the block now keeps it from growing in place the next time.
    CHECK(malloc(200000), "%zu MiB: %s", size / mib, strerror(errno));
  }
  return 0;
}
