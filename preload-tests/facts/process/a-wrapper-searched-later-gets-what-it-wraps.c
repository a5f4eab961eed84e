// A library that wraps free, and finds on a handle of libc what it wraps, goes on working behind a
// preloaded library: it is not sent back to itself.
// linked: wraps-by-handle.c
#include "check.h"
#include <dlfcn.h>
extern long wrapped_frees;
int main(void) {
  void *h = dlopen("libc.so.6", RTLD_NOW);
  CHECK(h, "dlopen: %s", dlerror());
  const char *version = dlvsym(h, "malloc", "GLIBC_2.2.5") ? "GLIBC_2.2.5" : "GLIBC_2.17";
  void *(*m)(size_t) = (void *(*)(size_t))dlvsym(h, "malloc", version);
  CHECK(m, "dlvsym");
  for (size_t n = 1; n < 1 << 20; n = n * 2 + 1) {
    char *p = m(n), *q = malloc(n);
    CHECK(p && q, "%zu bytes", n);
    memset(p, 1, n);
    memset(q, 2, n);
    free(p);
    free(q);
  }
  CHECK(wrapped_frees >= 20, "the wrapper saw %ld frees", wrapped_frees);
  return 0;
}
