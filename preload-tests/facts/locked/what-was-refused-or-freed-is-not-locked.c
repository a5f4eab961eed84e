// env: MALLOC_ARENA_MAX=1
// constructor: skip the whole program must come before mlockall
// Neither a huge block that could not grow nor one that was freed costs lock limit later.
#include "check.h"
int main(void) {
  char *p = malloc(1 << 20), *huge;
  CHECK(p, "malloc");
  memset(p, 1, 1 << 20);
  set_limit(RLIMIT_AS, 80ul << 30);
  CHECK(!realloc(p, 96ul << 30), "realloc");
  huge = malloc(8ul << 30);
  if (huge) {
    huge[0] = 1;
    free(huge);
  }
  if (mlockall(MCL_CURRENT)) SKIP("mlockall: %s", strerror(errno));
  long locked = status_kb("VmLck");
  CHECK(locked < 9000, "VmLck %ld kB", locked);
  return 0;
}
