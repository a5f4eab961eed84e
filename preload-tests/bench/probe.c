// Says which objects the process took malloc, free and pthread_create from: that a preload was
// honoured, and by all three names, is read here and not assumed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  static void *const addr[3] = {(void *)malloc, (void *)free, (void *)pthread_create};
  void *p = malloc(100);
  if (!p) return 1;
  free(p);
  for (int i = 0; i < 3; i++) {
    Dl_info d;
    if (!dladdr(addr[i], &d)) return 1;
    puts(d.dli_fname);
  }
  return 0;
}
