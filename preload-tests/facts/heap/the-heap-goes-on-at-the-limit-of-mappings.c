// timeout: 60
// bare: expect-fail glibc needs a new mapping for a large block
// fails-with: Cannot allocate memory
// A process that has as many mappings as the kernel allows still gets memory: what the heap needs
// is mapped next to what it has.
#include "check.h"
enum { MOST = 1 << 20, N = 2000 };
int main(void) {
  long limit = 0;
  FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
  CHECK(f && fscanf(f, "%ld", &limit) == 1, "max_map_count");
  fclose(f);
  if (limit > MOST) SKIP("%ld mappings are allowed", limit);
  static char *block[N];
  for (int i = 0; i < N; i++) CHECK(block[i] = malloc(50000), "%d", i);
  // One reserve, every second page of which gets other rights.
  size_t page = 4096, len = (size_t)limit * 2 * page;
  char *r = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(r != MAP_FAILED, "%s", strerror(errno));
  size_t at = page;
  while (at < len && !mprotect(r + at, page, PROT_READ)) at += 2 * page;
  CHECK(at < len && errno == ENOMEM, "%s", strerror(errno));
  unsigned seed = 1;
  for (int i = 0; i < 10 * N; i++) {
    int k = (int)(rnd(&seed) % N);
    size_t size = 16 + rnd(&seed) % 300000;
    free(block[k]);
    CHECK(block[k] = malloc(size), "%zu bytes: %s", size, strerror(errno));
    memset(block[k], i, size);
    if (i % 8 == 0) CHECK(block[k] = realloc(block[k], size * 2), "%zu bytes: %s", size * 2, strerror(errno));
  }
  return 0;
}
