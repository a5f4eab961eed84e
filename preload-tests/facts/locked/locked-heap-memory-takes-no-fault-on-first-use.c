// In a locked process what malloc returns is already in memory, whatever its size, alignment and
// history; with MCL_ONFAULT it is not, and takes memory by use alone.
#include "check.h"
#include <malloc.h>
int main(void) {
  const size_t sizes[] = { 40, 1000, 5000, 40000, 150000, 1 << 20, 20 << 20 };
  lock_all(MCL_CURRENT | MCL_FUTURE);
  for (int round = 0; round < 3; round++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      size_t n = sizes[k];
      int count = n > 100000 ? 2 : n > 10000 ? 40 : 600;
      static char *p[600];
      long f = 0;
      for (int i = 0; i < count; i++) {
        p[i] = i % 5 == 4 ? memalign(4096, n) : i % 5 == 3 ? realloc(malloc(n / 2), n) : malloc(n);
        CHECK(p[i], "malloc");
        long before = faults(RUSAGE_THREAD);
        for (size_t at = 0; at < n; at += 1024) p[i][at] = 1;
        p[i][n - 1] = 1;
        f += faults(RUSAGE_THREAD) - before;
      }
      CHECK(f <= 1, "round %d: %ld page faults on %d fresh blocks of %zu bytes", round, f, count, n);
      for (int i = 0; i < count; i++) free(p[i]);
    }
  CHECK(!munlockall(), "munlockall");
  CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT), "MCL_ONFAULT: %s", strerror(errno));
  long rss = status_kb("VmRSS");
  char *p = malloc(200 << 20);
  CHECK(p, "malloc");
  p[100 << 20] = 1;
  CHECK(status_kb("VmRSS") - rss < 1024, "with MCL_ONFAULT an unused block took %ld kB", status_kb("VmRSS") - rss);
  free(p);
  return 0;
}
