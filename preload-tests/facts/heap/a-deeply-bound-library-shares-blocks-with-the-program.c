// A library loaded with RTLD_DEEPBIND finds libc's definitions before preloaded ones. Blocks go
// both ways between it and the program, freed and resized on either side, C strings included.
// object: block-maker.c
#include "check.h"
#include <dlfcn.h>
int main(void) {
  void *h = dlopen(OBJECTS "/block-maker.so", RTLD_NOW | RTLD_DEEPBIND | RTLD_LOCAL);
  CHECK(h, "dlopen: %s", dlerror());
  void *(*make)(size_t), *(*resize)(void *, size_t);
  void (*drop)(void *);
  char *(*text)(const char *);
  *(void **)&make = dlsym(h, "make_block");
  *(void **)&resize = dlsym(h, "resize_block");
  *(void **)&drop = dlsym(h, "drop_block");
  *(void **)&text = dlsym(h, "make_text");
  CHECK(make && resize && drop && text, "dlsym");
  for (int round = 0; round < 20; round++)
    for (size_t n = 1; n < 2 << 20; n = n * 3 + 1) {
      char *a = make(n), *b = malloc(n), *c = make(n), *d = malloc(n);
      CHECK(a && b && c && d, "malloc");
      memset(a, 1, n);
      memset(b, 2, n);
      memset(c, 3, n);
      memset(d, 4, n);
      a = realloc(a, n * 2);
      b = resize(b, n * 2);
      CHECK(a && b && a[n - 1] == 1 && b[n - 1] == 2, "resized on the other side");
      free(a);
      drop(b);
      free(c);
      drop(d);
      char *t = text("some text");
      CHECK(t && !strcmp(t, "some text and more"), "text");
      free(t);
      drop(strdup("text"));
    }
  CHECK(!dlclose(h), "dlclose");
  return 0;
}
