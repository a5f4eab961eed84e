// A few blocks that the program locked itself and freed do not keep malloc_trim from the others.
#include "check.h"
#include <malloc.h>
enum { N = 4000, SIZE = 50000 };
static char *block[2 * N];
int main(void) {
  for (int i = 0; i < 2 * N; i++) {
    CHECK(block[i] = malloc(i % 2 ? 100 : SIZE), "%d", i);
    memset(block[i], 1, i % 2 ? 100 : SIZE);
  }
  for (int i = 0; i < 16; i += 2)
    if (mlock(block[i], SIZE)) SKIP("mlock: %s", strerror(errno));
  long before = status_kb("VmRSS");
  for (int i = 0; i < 2 * N; i += 2) free(block[i]);
  CHECK(malloc_trim(0) == 1, "malloc_trim");
  long after = status_kb("VmRSS");
  // Each free block has whole pages inside for at least 9/10 of its length.
  CHECK(before - after > N / 10 * 7 * (SIZE / 1024), "VmRSS %ld kB, then %ld kB", before, after);
  return 0;
}
