// env: MALLOC_ARENA_MAX=1
// constructor: skip the limit is the whole process's
// What is aligned stays aligned when memory runs out: a block at the multiple asked for or ENOMEM.
#include "check.h"
int main(void) {
  char *small[8];
  for (int i = 0; i < 8; i++) CHECK(small[i] = malloc(5000), "malloc");
  set_limit(RLIMIT_AS, 60 << 20);
  for (size_t size = 1 << 20; size >= 4096; size /= 2)
    while (malloc(size)) {
    }
  free(small[1]);
  free(small[3]);
  for (size_t align = 4096; align >= 32; align /= 2) {
    void *p;
    int e, n = 0;
    while (!(e = posix_memalign(&p, align, align)) && n++ < 100000)
      CHECK((uintptr_t)p % align == 0, "%p is no multiple of %zu", p, align);
    CHECK(e == ENOMEM, "%zu: %s", align, strerror(e));
  }
  return 0;
}
