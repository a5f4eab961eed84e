// env: MALLOC_ARENA_MAX=1
// constructor: skip the limit is the whole process's
// A request that cannot be had costs no memory, no addresses and no time.
#include "check.h"
#include <malloc.h>
int main(void) {
  set_limit(RLIMIT_AS, 1ul << 30);
  char *p = malloc(1 << 20), *q;
  CHECK(p, "malloc");
  memset(p, 7, 1 << 20);
  for (int round = 0; round < 2; round++) {
    long size = status_kb("VmSize"), rss = status_kb("VmRSS");
    double t = now_s();
    for (int i = 0; i < 300; i++)
      for (int shift = 31; shift < 46; shift++) {
        errno = 0;
        CHECK(!malloc(1ul << shift) && errno == ENOMEM, "malloc 2^%d", shift);
        CHECK(!realloc(p, 1ul << shift) && errno == ENOMEM, "realloc 2^%d", shift);
        CHECK(posix_memalign((void **)&q, 1 << 16, 1ul << shift) == ENOMEM, "posix_memalign 2^%d", shift);
      }
    CHECK(now_s() - t < 5, "%.1f s", now_s() - t);
    size = status_kb("VmSize") - size;
    rss = status_kb("VmRSS") - rss;
    CHECK(size < 1024 && rss < 512, "VmSize +%ld kB, VmRSS +%ld kB", size, rss);
  }
  for (int i = 0; i < 1 << 20; i++) CHECK(p[i] == 7, "byte %d changed", i);
  return 0;
}
