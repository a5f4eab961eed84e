// mallopt returns for each parameter and value what glibc returns, and the heap works after each.
// output: same
#include "check.h"
#include <malloc.h>
int main(void) {
  static const struct {
    const char *name;
    int param, value;
  } q[] = {
    { "MXFAST", M_MXFAST, 0 },
    { "MXFAST", M_MXFAST, 64 },
    { "MXFAST", M_MXFAST, 160 },
    { "MXFAST", M_MXFAST, 161 },
    { "MXFAST", M_MXFAST, -1 },
    { "TRIM_THRESHOLD", M_TRIM_THRESHOLD, 0 },
    { "TRIM_THRESHOLD", M_TRIM_THRESHOLD, 1 << 20 },
    { "TRIM_THRESHOLD", M_TRIM_THRESHOLD, -1 },
    { "TOP_PAD", M_TOP_PAD, 0 },
    { "TOP_PAD", M_TOP_PAD, 1 << 20 },
    { "MMAP_THRESHOLD", M_MMAP_THRESHOLD, 0 },
    { "MMAP_THRESHOLD", M_MMAP_THRESHOLD, 32 << 20 },
    { "MMAP_THRESHOLD", M_MMAP_THRESHOLD, (32 << 20) + 1 },
    { "MMAP_THRESHOLD", M_MMAP_THRESHOLD, -1 },
    { "MMAP_THRESHOLD", M_MMAP_THRESHOLD, 128 << 10 },
    { "MMAP_MAX", M_MMAP_MAX, 0 },
    { "MMAP_MAX", M_MMAP_MAX, -1 },
    { "MMAP_MAX", M_MMAP_MAX, 65536 },
    { "CHECK_ACTION", M_CHECK_ACTION, 0 },
    { "CHECK_ACTION", M_CHECK_ACTION, 3 },
    { "PERTURB", M_PERTURB, 0x55 },
    { "PERTURB", M_PERTURB, 0 },
    { "ARENA_TEST", M_ARENA_TEST, 0 },
    { "ARENA_TEST", M_ARENA_TEST, 4 },
    { "ARENA_MAX", M_ARENA_MAX, 0 },
    { "ARENA_MAX", M_ARENA_MAX, 1 },
    { "ARENA_MAX", M_ARENA_MAX, 8 },
    { "unknown", 99, 1 },
    { "unknown", 0, 0 },
    { "unknown", -99, 0 },
    { "NLBLKS", M_NLBLKS, 5 },
    { "GRAIN", M_GRAIN, 5 },
    { "KEEP", M_KEEP, 5 },
  };
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) {
    errno = 0;
    int r = mallopt(q[i].param, q[i].value);
    printf("%s %d: %d\n", q[i].name, q[i].value, r);
    for (size_t n = 1; n < 50 << 20; n = n * 4 + 1) {
      char *p = malloc(n), *z = calloc(1, n);
      CHECK(p && z, "%zu bytes after mallopt %s %d", n, q[i].name, q[i].value);
      p[0] = p[n - 1] = 1;
      CHECK(!z[0] && !z[n - 1], "calloc after mallopt %s %d", q[i].name, q[i].value);
      free(p);
      free(z);
    }
  }
  return 0;
}
