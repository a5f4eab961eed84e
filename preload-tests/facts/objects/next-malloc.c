// A library that asks for the next definition of malloc after its own place in the search order:
// behind a preloaded library, that is libc's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
void *next_malloc(size_t n) {
  void *(*f)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  return f(n);
}
void *next_libc_malloc(size_t n) {
  void *(*f)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "__libc_malloc");
  return f(n);
}
