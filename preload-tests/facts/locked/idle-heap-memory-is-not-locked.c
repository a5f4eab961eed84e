// env: MALLOC_ARENA_MAX=1
// constructor: skip the whole program must come before mlockall
// What the heap holds and nobody uses when the program locks itself is not locked, and not again
// after malloc_trim in a locked process, which makes no mapping of each free page either.
#include "check.h"
#include <malloc.h>
enum { N = 300, BYTES = 200000, PAGES = 30000 };
static char *block[2 * N], *small[PAGES];
static long mappings(void) {
  long n = 0;
  char b[65536];
  ssize_t got;
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0, "maps");
  while ((got = read(fd, b, sizeof b)) > 0)
    for (ssize_t i = 0; i < got; i++) n += b[i] == '\n';
  close(fd);
  return n;
}
int main(void) {
  for (int i = 0; i < 2 * N; i++) {
    CHECK(block[i] = malloc(i % 2 ? 40000 : BYTES), "%d", i);
    memset(block[i], 1, 40000);
  }
  for (int i = 0; i < 2 * N; i += 2) free(block[i]);
  free(memalign(64 << 20, 4096));
  if (mlockall(MCL_CURRENT | MCL_FUTURE)) SKIP("mlockall: %s", strerror(errno));
  long live = N * 40 + 8192, locked = status_kb("VmLck");
  CHECK(locked < live + 12 * 1024, "VmLck %ld kB for %ld kB in use", locked, live);

  for (int i = 0; i < PAGES; i++) CHECK(small[i] = malloc(4096), "%d", i);
  for (int i = 0; i < PAGES; i += 2) free(small[i]);
  long before = mappings();
  malloc_trim(0);
  long more = mappings() - before;
  CHECK(more < 4096, "%ld more mappings", more);
  for (int i = 0; i < PAGES; i += 2) CHECK(small[i] = malloc(4096), "%d: %s", i, strerror(errno));
  return 0;
}
