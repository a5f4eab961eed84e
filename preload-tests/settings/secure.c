// Says whether it runs under AT_SECURE, and whether the library is loaded, then exits with 4.
#include "check.h"
#include <sys/auxv.h>
static long has_library(char *line, void *with) {
  (void)with;
  return strstr(line, "libfix.so") != 0;
}
static void *quick(void *arg) {
  free(malloc(100));
  return arg;
}
int main(void) {
  for (int i = 0; i < 20; i++) finish(start(0, quick, 0));
  printf("secure %lu library %ld\n", getauxval(AT_SECURE), each_line("/proc/self/maps", has_library, 0));
  return 4;
}
