// Threads that a library in a namespace of its own starts, by a libc of its own, call functions of
// the program's, which use the program's heap: their memory is sound, the keys of the two libcs do
// not get mixed up, and nothing stays behind where libc leaves a few kB a thread.
// variant:
// variant (bare fails): -DFLAT
// fails-with: kB in memory
// object: calls-back.c
#include "check.h"
#include <dlfcn.h>
static void *kept[64];
static int calls;
static void use(void) {
  void *p[30];
  for (int i = 0; i < 30; i++) {
    p[i] = malloc((size_t)i * 300 + 1);
    CHECK(p[i], "malloc");
    memset(p[i], i, (size_t)i * 300 + 1);
  }
  for (int i = 0; i < 30; i++) free(p[i]);
  int k = calls++ % 64;
  free(kept[k]);
  kept[k] = calloc(1, 40000);
  CHECK(kept[k], "calloc");
}
static void *own(void *arg) {
  use();
  return arg;
}
int main(void) {
  void *h = dlmopen(LM_ID_NEWLM, OBJECTS "/calls-back.so", RTLD_NOW);
  CHECK(h, "dlmopen: %s", dlerror());
  int (*call_back)(int, void (*)(void)) = (int (*)(int, void (*)(void)))dlsym(h, "call_back");
  CHECK(call_back, "dlsym");
  CHECK(call_back(200, use) == 200, "threads of the namespace");
  finish(start(0, own, 0));
  long rss = status_kb("VmRSS"), size = status_kb("VmSize");
  CHECK(call_back(3000, use) == 3000, "threads of the namespace");
  finish(start(0, own, 0));
  rss = status_kb("VmRSS") - rss;
  size = status_kb("VmSize") - size;
#ifndef FLAT
  rss = size = 0;
#endif
  CHECK(rss < 1024 && size < 4096, "left: %ld kB in memory, %ld kB of addresses", rss, size);
  CHECK(calls == 3202, "%d calls", calls);
  return 0;
}
