// A library that opens another by its bare name, and uses the heap of its own namespace.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int open_by_name(void) {
  void *h = dlopen("opened-by-name.so", RTLD_NOW);
  if (!h) return -1;
  int (*f)(void) = (int (*)(void))dlsym(h, "twelve");
  int r = f ? f() : -2;
  dlclose(h);
  return r;
}
int use_the_heap(void) {
  char *p[200];
  for (int i = 0; i < 200; i++) {
    p[i] = malloc((size_t)(1 + i * i));
    if (!p[i]) return -1;
    memset(p[i], i, (size_t)(1 + i * i));
  }
  for (int i = 0; i < 200; i++) {
    p[i] = realloc(p[i], (size_t)(500 + i));
    if (!p[i] || p[i][0] != (char)i) return -2;
    free(p[i]);
  }
  char *s = strdup("text");
  int r = s && !strcmp(s, "text") ? 34 : -3;
  free(s);
  return r;
}
