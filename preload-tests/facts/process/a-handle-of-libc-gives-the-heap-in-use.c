// Whoever asks a handle of libc, or of a library that needs it, for a function of the malloc family
// may give it the blocks that libc's own functions took for the program. What else is asked, and
// what depends on who asks, is answered as ever, errors included.
// flags: -rdynamic
// object: next-malloc.c
// object: block-maker.c
#include "check.h"
#include <dlfcn.h>
#include <malloc.h>
static void *get(void *h, const char *name) {
  void *f = dlsym(h, name);
  CHECK(f, "%s: %s", name, dlerror());
  return f;
}
static void with(void *h, const char *what) {
  void (*f)(void *) = (void (*)(void *))get(h, "free"), (*lf)(void *) = (void (*)(void *))get(h, "__libc_free");
  void *(*r)(void *, size_t) = (void *(*)(void *, size_t))get(h, "realloc");
  size_t (*u)(void *) = (size_t (*)(void *))get(h, "malloc_usable_size");
  for (int i = 0; i < 2000; i++) {
    char *s = strdup("a block that strdup took"), *l = 0;
    CHECK(s && u(s) >= 25, "%s: usable size", what);
    s = r(s, 100000);
    CHECK(s && !strcmp(s, "a block that strdup took"), "%s: realloc gave %s", what, s);
    f(s);
    CHECK(asprintf(&l, "%s %d", what, i) > 0, "asprintf");
    (i % 2 ? f : lf)(l);
    void *(*m)(size_t) = (void *(*)(size_t))dlsym(h, "malloc");
    free(m(70));
    f(malloc(90000));
  }
  CHECK((void *)f == (void *)free, "%s: another free than the program's", what);
}
int main(void) {
  void *libc = dlopen("libc.so.6", RTLD_NOW), *libm = dlopen("libm.so.6", RTLD_NOW);
  CHECK(libc && libm, "dlopen: %s", dlerror());
  with(libc, "libc");
  with(libm, "libm");
  with(dlopen(0, RTLD_NOW), "the program");
  with(RTLD_DEFAULT, "the default");
#ifndef IN_CONSTRUCTOR
  // What is next after a library may be libc's own.
  with(RTLD_NEXT, "the next");
#endif
  CHECK(get(libc, "getpid") == (void *)getpid && get(libm, "cos") != 0, "other names");
  // Each library's own definition is what its handle gives.
  void *maker = dlopen(OBJECTS "/block-maker.so", RTLD_NOW | RTLD_LOCAL);
  CHECK(maker && get(maker, "make_block"), "a library's own name");
  void *next = dlopen(OBJECTS "/next-malloc.so", RTLD_NOW);
  CHECK(next, "dlopen: %s", dlerror());
  void *(*from_next)(size_t) = (void *(*)(size_t))get(next, "next_libc_malloc");
  free(from_next(30));
  // Errors are reported, and only errors.
  CHECK(!dlerror(), "an error left behind");
  CHECK(!dlsym(libc, "no_such_function"), "found what is not there");
  const char *e = dlerror();
  CHECK(e && strstr(e, "no_such_function"), "dlerror: %s", e);
  CHECK(!dlsym(libm, "malloc_no") && dlerror() && !dlerror(), "dlerror once");
  CHECK(get(libc, "malloc_trim") && !dlerror(), "an error after a success");
  return 0;
}
