// Old and unusual programs call __libc_malloc and its kin or cfree: blocks of either name can be
// freed and resized by the other.
#include "check.h"
#include <malloc.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), *__libc_valloc(size_t), *__libc_pvalloc(size_t);
extern void __libc_free(void *);
extern int __libc_mallopt(int, int);
extern struct mallinfo __libc_mallinfo(void);
// cfree can no longer be linked with; programs built long ago name this version of it.
__asm__(".symver old_cfree,cfree@GLIBC_2.2.5");
extern void old_cfree(void *);
int main(void) {
  for (size_t n = 1; n < 3 << 20; n = n * 3 + 7) {
    char *p = __libc_malloc(n), *q = malloc(n);
    CHECK(p && q && malloc_usable_size(p) >= n, "__libc_malloc");
    memset(p, 1, n);
    memset(q, 2, n);
    p = realloc(p, n * 2);
    q = __libc_realloc(q, n * 2);
    CHECK(p && q && p[n - 1] == 1 && q[n - 1] == 2, "realloc");
    free(p);
    __libc_free(q);
    p = __libc_calloc(3, n);
    CHECK(p && !p[0] && !p[3 * n - 1], "__libc_calloc");
    old_cfree(p);
    p = __libc_memalign(256, n);
    CHECK(p && !((uintptr_t)p % 256), "__libc_memalign");
    free(p);
    p = __libc_valloc(n);
    CHECK(p && !((uintptr_t)p % 4096), "__libc_valloc");
    free(p);
    p = __libc_pvalloc(n);
    CHECK(p && !((uintptr_t)p % 4096) && malloc_usable_size(p) >= ((n + 4095) & ~4095UL), "__libc_pvalloc");
    __libc_free(p);
    old_cfree(malloc(n));
    old_cfree(0);
  }
  CHECK(__libc_mallopt(M_ARENA_MAX, 3) == 1 && __libc_mallopt(M_MXFAST, 161) == 0, "__libc_mallopt");
  long before = __libc_mallinfo().uordblks;
  void *keep[100];
  for (int i = 0; i < 100; i++) keep[i] = malloc(10000);
  long used = __libc_mallinfo().uordblks - before;
  CHECK(used >= 1000000 && used < 1400000, "__libc_mallinfo counts %ld for 1000000 bytes", used);
  for (int i = 0; i < 100; i++) __libc_free(keep[i]);
  errno = 0;
  void *volatile r = __libc_malloc((size_t)-100);
  CHECK(!r && errno == ENOMEM, "__libc_malloc too large");
  return 0;
}
