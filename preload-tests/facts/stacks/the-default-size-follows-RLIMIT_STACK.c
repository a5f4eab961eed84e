// A thread without attributes gets the stack size that RLIMIT_STACK named when the program
// started, 2 MiB when that was unlimited; a limit changed later changes nothing.
// limits: -S -s 256
// limits: -S -s 1000
// limits: -S -s 8192
// limits: -S -s 20000
// limits: -S -s unlimited
// output: same
#include "check.h"
static void *probe(void *arg) {
  *(struct stack *)arg = stack_of(pthread_self());
  return 0;
}
int main(void) {
  struct rlimit r, small = { 0, 0 };
  pthread_attr_t d;
  size_t size = 0;
  struct stack s;
  CHECK(!getrlimit(RLIMIT_STACK, &r), "getrlimit");
  size_t want = r.rlim_cur == RLIM_INFINITY ? 2 << 20 : (r.rlim_cur + 4095) & ~4095UL;
  CHECK(!pthread_getattr_default_np(&d) && !pthread_attr_getstacksize(&d, &size), "default attributes");
  CHECK(size == want, "the default is %zu, the limit %zu", size, want);
  finish(start(0, probe, &s));
  CHECK(s.size == want && s.guard == 4096, "without attributes: %zu and a guard of %zu", s.size, s.guard);
  pthread_attr_t a;
  pthread_attr_init(&a);
  finish(start(&a, probe, &s));
  CHECK(s.size == want && s.guard == 4096, "with untouched attributes: %zu and a guard of %zu", s.size, s.guard);
  small.rlim_cur = 128 << 10;
  small.rlim_max = r.rlim_max;
  CHECK(!setrlimit(RLIMIT_STACK, &small), "setrlimit");
  finish(start(0, probe, &s));
  CHECK(s.size == want, "after the limit changed: %zu", s.size);
  printf("%zu %zu\n", s.size, s.guard);
  return 0;
}
