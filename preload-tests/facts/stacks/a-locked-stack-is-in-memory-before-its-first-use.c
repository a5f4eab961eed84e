// The real-time contract: after mlockall(MCL_CURRENT | MCL_FUTURE) a new thread's whole stack is
// in memory, and using it takes no page fault, be it new or reused.
#include "check.h"

static long touch(size_t len) {
  long before = faults(RUSAGE_THREAD);
  volatile char *p = __builtin_alloca(len);
  for (size_t i = 0; i < len; i += 4096) p[len - 1 - i] = 1;
  return faults(RUSAGE_THREAD) - before;
}
static size_t use;
static void *user(void *arg) {
  (void)arg;
  touch(2048);
  return (void *)touch(use);
}
static long once(size_t stack, size_t used) {
  pthread_attr_t a = attr_of(stack, 4096);
  use = used;
  return (long)finish(start(&a, user, 0));
}

int main(void) {
  long f = once(1 << 20, 700 << 10);
  CHECK(f > 100, "an unlocked stack took only %ld faults: this measures nothing", f);
  lock_all(MCL_CURRENT | MCL_FUTURE);
  for (size_t i = 0; i < 4; i++) {
    f = once((1 + i) << 20, (700 << 10) + i * (1 << 20));
    CHECK(f <= 2, "round %zu: %ld page faults on a locked stack", i, f);
  }
  for (int i = 0; i < 3; i++) {
    f = once(8 << 20, 7 << 20);
    CHECK(f <= 2, "%ld page faults on a locked stack of 8 MiB", f);
  }
  return 0;
}
