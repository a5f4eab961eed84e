// env: MALLOC_ARENA_MAX=1
// bare: expect-fail glibc keeps the addresses it skipped
// fails-with: VmSize
// An alignment of 256 MiB costs addresses at most, for a moment: no mapping stays behind the block.
#include "check.h"
#include <malloc.h>
int main(void) {
  free(malloc(1));
  long before = status_kb("VmSize");
  char *p = memalign(256 << 20, 4096);
  CHECK(p && ((uintptr_t)p & ((256 << 20) - 1)) == 0, "%p", (void *)p);
  p[0] = 1;
  long grown = status_kb("VmSize") - before;
  CHECK(grown < 4096, "VmSize +%ld kB", grown);
  free(p);
  return 0;
}
