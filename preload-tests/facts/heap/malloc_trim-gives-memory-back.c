// After most blocks were freed, with a few left between them, malloc_trim(0) returns what it can to
// the system and says so; the blocks that stay are whole, and the heap goes on.
#include "check.h"
#include <malloc.h>
enum { N = 60000 };
static unsigned char *p[N];
int main(void) {
  free(malloc(10));
  long rss = status_kb("VmRSS");
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < N; i++) {
      p[i] = malloc(1000);
      CHECK(p[i], "malloc");
      memset(p[i], i, 1000);
    }
    long full = status_kb("VmRSS") - rss;
    CHECK(full > N * 1000L / 1024, "VmRSS grew %ld kB only", full);
    for (int i = 0; i < N; i++)
      if (i % 1000) {
        free(p[i]);
        p[i] = 0;
      }
    int r = malloc_trim(0);
    long left = status_kb("VmRSS") - rss;
    CHECK(left < full / 4, "round %d: %ld kB of %ld kB stay after malloc_trim", round, left, full);
    CHECK(r == 1 || full - left < 1024 || round, "malloc_trim gave memory back and said %d", r);
    for (int i = 0; i < N; i += 1000) {
      for (int k = 0; k < 1000; k++) CHECK(p[i][k] == (unsigned char)i, "a block that stayed changed");
      free(p[i]);
    }
    r = malloc_trim(64 << 10);
    CHECK(r == 0 || r == 1, "malloc_trim says %d", r);
  }
  return 0;
}
