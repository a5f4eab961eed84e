// Runtimes with stack checks of their own (JVM, PHP, collectors) read pthread_getattr_np: the
// stack it reports is the usable memory to the last byte, and the guard lies just below it, whole
// and inaccessible, on new stacks and on reused ones, unlocked and locked.
#include "check.h"
#include <setjmp.h>
static __thread sigjmp_buf back;
static __thread volatile uintptr_t hit;

static void on_segv(int sig, siginfo_t *i, void *u) {
  (void)sig, (void)u;
  hit = (uintptr_t)i->si_addr;
  siglongjmp(back, 1);
}
static uintptr_t fault_of_write(uintptr_t at) {
  hit = 0;
  if (!sigsetjmp(back, 1)) *(volatile char *)at = 1;
  return hit;
}
static uintptr_t fault_of_read(uintptr_t at) {
  hit = 0;
  if (!sigsetjmp(back, 1)) (void)*(volatile char *)at;
  return hit;
}

struct request {
  size_t stack, guard;
  int by_default;
};
static void *probe(void *v) {
  struct request *r = v;
  char here;
  pthread_attr_t a;
  int detach;
  struct stack s = stack_of(pthread_self());
  CHECK(!pthread_getattr_np(pthread_self(), &a) && !pthread_attr_getdetachstate(&a, &detach), "getattr");
  pthread_attr_destroy(&a);
  CHECK(detach == PTHREAD_CREATE_JOINABLE, "detach state %d", detach);
  uintptr_t me = (uintptr_t)&here;
  CHECK(me > s.lo && me < s.hi, "own frame %lx outside of [%lx,%lx)", me, s.lo, s.hi);
  CHECK(s.hi - me < 64 << 10, "the frame of a new thread is %lu kB below the top", (s.hi - me) >> 10);
  size_t rounded = (r->guard + 4095) & ~4095UL;
  CHECK(s.guard == rounded || s.guard == r->guard, "guard %zu, asked %zu", s.guard, r->guard);
  // A request may be served by a cached stack up to four times larger, which is then reported.
  CHECK(s.size >= r->stack - 4096 && s.size <= 4 * r->stack + 16384, "stack %zu, asked %zu", s.size, r->stack);

  stack_t alt = { .ss_sp = malloc(65536), .ss_size = 65536 };
  CHECK(!sigaltstack(&alt, 0), "sigaltstack");
  CHECK(!fault_of_write(s.lo) && !fault_of_write(s.lo + 1), "the lowest byte, %lx, faults", s.lo);
  if (rounded) {
    CHECK(fault_of_write(s.lo - 1) == s.lo - 1, "the byte below the stack is writable (guard %zu)", rounded);
    CHECK(fault_of_write(s.lo - rounded) == s.lo - rounded, "the far end of the guard is writable");
    CHECK(fault_of_read(s.lo - 1), "the guard is readable");
    CHECK(fault_of_read(s.lo - rounded / 2 - 1), "the middle of the guard is readable");
  }
  alt.ss_flags = SS_DISABLE;
  sigaltstack(&alt, 0);
  free(alt.ss_sp);
  return 0;
}

static void every_request(void) {
  struct request q[] = { { 0, 4096, 1 },       { 64 << 10, 4096, 0 },   { 1 << 20, 1 << 20, 0 },
                         { 256 << 10, 1, 0 }, { 512 << 10, 65536, 0 }, { 300 << 10, 0, 0 } };
  for (int rep = 0; rep < 3; rep++)
    for (size_t i = 0; i < sizeof q / sizeof *q; i++) {
      pthread_attr_t a;
      if (q[i].by_default) {
        CHECK(!pthread_getattr_default_np(&a) && !pthread_attr_getstacksize(&a, &q[i].stack), "default");
        finish(start(0, probe, &q[i]));
      } else {
        a = attr_of(q[i].stack, q[i].guard);
        finish(start(&a, probe, &q[i]));
      }
      pthread_attr_destroy(&a);
    }
}

int main(void) {
  struct sigaction sa = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK };
  sigaction(SIGSEGV, &sa, 0);
  every_request();
  if (has_cap(CAP_IPC_LOCK_)) {
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
    every_request();
    munlockall();
    every_request();
  }
  return 0;
}
