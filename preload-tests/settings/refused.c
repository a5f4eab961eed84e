// refused WHAT: asks for a thread that one limit refuses, and ends with 0 if that was EAGAIN. The
// limit is locked (memory), space, mappings, commit or threads; "none" asks for one that is had.
#include "check.h"
static void *nothing(void *arg) { return arg; }
int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  size_t size = 1 << 20;
  if (!strcmp(what, "locked")) {
    set_limit(RLIMIT_MEMLOCK, 1 << 20);
    become_ordinary(65534);
    CHECK(!mlockall(MCL_FUTURE), "mlockall: %s", strerror(errno));
  } else if (!strcmp(what, "space")) {
    size = 1 << 30;
    set_limit(RLIMIT_AS, 512 << 20);
  } else if (!strcmp(what, "mappings")) {
    // Neighbours with other rights do not merge.
    while (mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED &&
           mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
    }
  } else if (!strcmp(what, "commit")) {
    size = (size_t)1 << 44;
  } else if (!strcmp(what, "threads")) {
    become_ordinary(54321);
    set_limit(RLIMIT_NPROC, 1);
  } else {
    CHECK(!strcmp(what, "none"), "no such limit: %s", what);
  }
  pthread_attr_t a = attr_of(size, 64 << 10);
  pthread_t t;
  errno = 77;
  int e = pthread_create(&t, &a, nothing, 0);
  // What libc's own refusal leaves there is libc's affair.
  CHECK(errno == 77 || !strcmp(what, "threads"), "errno is %d", errno);
  if (!strcmp(what, "none")) {
    CHECK(!e, "pthread_create: %s", strerror(e));
    finish(t);
    return 0;
  }
  if (!e && !strcmp(what, "threads")) return 77;
  CHECK(e == EAGAIN, "pthread_create: %s", strerror(e));
  return 0;
}
