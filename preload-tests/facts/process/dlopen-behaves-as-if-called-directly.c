// dlopen depends on who calls it: a library that opens another by its bare name finds it through its
// own RUNPATH, while the program, which has none, does not. Messages, flags, handles and a second
// namespace are as without a preloaded library.
// object: opens-by-name.c -Wl,--enable-new-dtags -Wl,-rpath,$ORIGIN
// object: opened-by-name.c
// output: same
#include "check.h"
#include <dlfcn.h>
int main(void) {
  void *h = dlopen("opened-by-name.so", RTLD_NOW);
  CHECK(!h, "the program found it without a path");
  printf("%s\n", dlerror());
  h = dlopen(OBJECTS "/opens-by-name.so", RTLD_NOW);
  CHECK(h, "dlopen: %s", dlerror());
  int (*open_by_name)(void) = (int (*)(void))dlsym(h, "open_by_name");
  CHECK(open_by_name && open_by_name() == 12, "the library's own RUNPATH was not used");
  CHECK(dlopen(OBJECTS "/opens-by-name.so", RTLD_NOW | RTLD_NOLOAD) == h, "RTLD_NOLOAD");
  CHECK(!dlclose(h) && !dlclose(h), "dlclose");
  CHECK(!dlopen("/nonexistent/x.so", RTLD_NOW), "what does not exist");
  printf("%s\n", dlerror());
  CHECK(!dlopen("/proc/self/status", RTLD_NOW), "what is no library");
  printf("%s\n", dlerror());
  CHECK(!dlopen(OBJECTS "/opened-by-name.so", 0), "no mode");
  printf("%s\n", dlerror());
  h = dlopen(0, RTLD_NOW);
  CHECK(h && dlsym(h, "malloc") == dlsym(RTLD_DEFAULT, "malloc"), "the program's handle");
  h = dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  double (*root)(double) = (double (*)(double))dlsym(h, "sqrt");
  CHECK(h && root && root(16) == 4, "libm");

  h = dlmopen(LM_ID_NEWLM, OBJECTS "/opens-by-name.so", RTLD_NOW);
  CHECK(h, "dlmopen: %s", dlerror());
  int (*own)(void) = (int (*)(void))dlsym(h, "use_the_heap");
  CHECK(own && own() == 34, "the heap of a second namespace");
  open_by_name = (int (*)(void))dlsym(h, "open_by_name");
  CHECK(open_by_name && open_by_name() == 12, "dlopen in a second namespace");
  Lmid_t ns = 0;
  CHECK(!dlinfo(h, RTLD_DI_LMID, &ns) && ns != LM_ID_BASE, "namespace %ld", (long)ns);
  CHECK(!dlclose(h), "dlclose");
  return 0;
}
