// A program may have functions of its own by the names of clock_gettime and getauxval, which use the
// heap: it never asks them while it works.
#include "check.h"
#include <elf.h>
#include <malloc.h>
static volatile int asked;
int clock_gettime(clockid_t id, struct timespec *t) {
  char *p = malloc(50000);
  CHECK(p, "malloc");
  p[0] = 1;
  free(p);
  asked++;
  return (int)syscall(SYS_clock_gettime, id, t);
}
unsigned long getauxval(unsigned long kind) {
  free(malloc(50000));
  asked++;
  return kind == AT_PAGESZ ? 4096 : 0;
}
static void *work(void *arg) {
  enum { N = 400 };
  char *p[N];
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < N; i++) {
      CHECK(p[i] = malloc(100000), "malloc");
      memset(p[i], i, 100000);
    }
    for (int i = 0; i < N; i++) free(p[i]);
  }
  return arg;
}
int main(void) {
  for (int round = 0; round < 3; round++) {
    work(0);
    struct timespec rest = { 0, 300000000 };
    nanosleep(&rest, 0);
    for (int i = 0; i < 8; i++) finish(start(0, work, 0));
  }
  struct timespec now;
  CHECK(!clock_gettime(CLOCK_MONOTONIC, &now) && asked > 0, "the program's own clock");
  return 0;
}
