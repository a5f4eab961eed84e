// A thread that runs over the end of its stack is stopped by the guard: the handler is told an
// address inside the guard, on a fresh stack as on a reused one, whatever the guard's size.
// flags: -fno-optimize-sibling-calls -Wno-infinite-recursion
#include "check.h"
static uintptr_t lo;
static size_t guard;
static __thread char alt[16384];
static void on_segv(int sig, siginfo_t *i, void *u) {
  (void)sig, (void)u;
  uintptr_t at = (uintptr_t)i->si_addr;
  if (!(at < lo && at >= lo - guard)) {
    dprintf(2, "FAIL fault at %lx, guard is [%lx,%lx)\n", at, lo - guard, lo);
    _exit(1);
  }
  _exit(42);
}
__attribute__((noinline, noclone)) static int down(volatile char *p) {
  volatile char b[2048];
  b[0] = p[0];
  return down(b) + b[0];
}
static void *fall(void *arg) {
  stack_t ss = { .ss_sp = alt, .ss_size = sizeof alt };
  sigaltstack(&ss, 0);
  struct stack s = stack_of(pthread_self());
  lo = s.lo;
  guard = s.guard;
  char c = 1;
  down(&c);
  return arg;
}
static void *quick(void *arg) { return arg; }
int main(void) {
  struct sigaction sa = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK };
  const size_t guards[] = { 4096, 65536, 1 << 20 };
  for (int i = 0; i < 6; i++) {
    pthread_attr_t a = attr_of(512 << 10, guards[i % 3]), other = attr_of(512 << 10, guards[(i + 1) % 3]);
    pid_t p = fork();
    CHECK(p >= 0, "fork");
    if (!p) {
      sigaction(SIGSEGV, &sa, 0);
      for (int k = 0; i >= 3 && k < 3; k++) finish(start(&other, quick, 0));
      finish(start(&a, fall, 0));
      _exit(3);
    }
    int st;
    waitpid(p, &st, 0);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 42, "guard %zu: ended with 0x%x", guards[i % 3], st);
  }
  return 0;
}
