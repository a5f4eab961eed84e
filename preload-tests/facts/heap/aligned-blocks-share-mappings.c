// variant: -DALIGN=8192 -DSIZE=4096
// variant: -DALIGN=65536 -DSIZE=20000
// variant: -DALIGN=262144 -DSIZE=300000
// Many aligned blocks need no mapping each: what lies between them is the heap's to use.
#include "check.h"
#include <malloc.h>
enum { N = 20000 };
int main(void) {
  if (SIZE > 128 << 10) CHECK(mallopt(M_MMAP_THRESHOLD, 32 << 20), "mallopt");
  int before = count_maps();
  static char *block[N];
  for (int i = 0; i < N; i++) {
    CHECK(block[i] = memalign(ALIGN, SIZE), "%d: %s", i, strerror(errno));
    CHECK((uintptr_t)block[i] % ALIGN == 0, "%p", (void *)block[i]);
  }
  int more = count_maps() - before;
  CHECK(more < 2000, "%d more mappings", more);
  for (int i = 0; i < N; i++) free(block[i]);
  return 0;
}
