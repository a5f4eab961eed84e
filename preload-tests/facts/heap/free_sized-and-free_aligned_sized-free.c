// The sized deallocation of C23 is there and frees blocks of every kind; memory does not grow.
// bare: skip glibc 2.36 does not have it
#include "check.h"
#include <dlfcn.h>
#include <malloc.h>
int main(void) {
  void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
  void (*aligned)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
  CHECK(sized && aligned, "free_sized %d, free_aligned_sized %d", sized != 0, aligned != 0);
  sized(0, 0);
  sized(0, 10);
  aligned(0, 64, 100);
  long rss = 0;
  for (int round = 0; round < 6; round++) {
    for (size_t n = 0; n < 3 << 20; n = n * 2 + 1)
      for (int i = 0; i < (n < 10000 ? 100 : 5); i++) {
        char *p = malloc(n), *c = calloc(1, n + 1), *r = realloc(malloc(n / 2 + 1), n + 1), *a = aligned_alloc(64, n),
             *b = aligned_alloc(8192, n);
        CHECK(p && c && r && a && b, "malloc");
        memset(p, 1, n);
        memset(a, 1, n);
        memset(b, 1, n);
        errno = 77;
        sized(p, n);
        sized(c, n + 1);
        sized(r, n + 1);
        aligned(a, 64, n);
        aligned(b, 8192, n);
        CHECK(errno == 77, "errno is %d", errno);
      }
    if (round == 2) rss = status_kb("VmRSS");
  }
  CHECK(status_kb("VmRSS") - rss < 2048, "VmRSS grew %ld kB", status_kb("VmRSS") - rss);
  return 0;
}
