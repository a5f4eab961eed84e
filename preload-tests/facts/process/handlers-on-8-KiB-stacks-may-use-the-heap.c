// Crash reporters and timers: signal handlers on alternate stacks of 8 KiB use the heap, start a
// thread or end the process. What they interrupt is never inside the allocator, so glibc's works;
// so must one with deep frames or a flag that says it is busy.
// flags: -fno-optimize-sibling-calls -Wno-infinite-recursion
#include "check.h"
#include <sys/time.h>
static volatile int hits;
static volatile long spin;
static void work(int sig) {
  (void)sig;
  int e = errno;
  void *p[10];
  for (int i = 0; i < 10; i++) {
    p[i] = malloc(30UL << i);
    CHECK(p[i], "malloc in a handler");
    memset(p[i], i, 30UL << i);
  }
  void *q = calloc(1, 300000);
  q = realloc(q, 10);
  free(q);
  for (int i = 0; i < 10; i++) free(p[i]);
  hits++;
  errno = e;
}
static void *quick(void *arg) {
  free(malloc(10));
  return arg;
}
static void report(int sig, siginfo_t *i, void *u) {
  (void)sig, (void)u;
  char *m = malloc(200);
  snprintf(m, 200, "fault at %p", i->si_addr);
  free(m);
  pthread_attr_t a = attr_of(65536, 4096);
  finish(start(&a, quick, 0));
  _exit(42);
}
static void *user(void *arg) {
  stack_t ss = { .ss_sp = malloc(8192), .ss_size = 8192 };
  sigaltstack(&ss, 0);
  int before = hits;
  for (int i = 0; i < 30; i++) pthread_kill(pthread_self(), SIGUSR1);
  CHECK(hits >= before + 30, "handlers");
  ss.ss_flags = SS_DISABLE;
  sigaltstack(&ss, 0);
  free(ss.ss_sp);
  return arg;
}
__attribute__((noinline, noclone)) static int down(volatile char *p) {
  volatile char b[2048];
  b[0] = p[0];
  return down(b) + b[0];
}
static void *fall(void *arg) {
  static __thread char alt[16384];
  stack_t ss = { .ss_sp = alt, .ss_size = sizeof alt };
  sigaltstack(&ss, 0);
  char c = 1;
  down(&c);
  return arg;
}
static void reports(void (*crash)(void), const char *what) {
  pid_t p = fork();
  CHECK(p >= 0, "fork");
  if (!p) {
    struct sigaction b = { .sa_sigaction = report, .sa_flags = SA_ONSTACK | SA_SIGINFO };
    sigaction(SIGSEGV, &b, 0);
    crash();
    _exit(1);
  }
  int st;
  waitpid(p, &st, 0);
  CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 42, "%s ended with 0x%x", what, st);
}
static void bad_write(void) { *(volatile char *volatile)16 = 1; }
static void overflow(void) { finish(start(0, fall, 0)); }
int main(void) {
  static char alt[8192];
  stack_t ss = { .ss_sp = alt, .ss_size = sizeof alt };
  CHECK(!sigaltstack(&ss, 0), "sigaltstack");
  struct sigaction a = { .sa_handler = work, .sa_flags = SA_ONSTACK | SA_RESTART };
  sigaction(SIGALRM, &a, 0);
  sigaction(SIGUSR1, &a, 0);
  struct itimerval iv = { { 0, 500 }, { 0, 500 } };
  setitimer(ITIMER_REAL, &iv, 0);
  while (hits < 300) spin++;
  memset(&iv, 0, sizeof iv);
  setitimer(ITIMER_REAL, &iv, 0);
  for (int i = 0; i < 100; i++) finish(start(0, user, 0));
  reports(bad_write, "a crash reporter");
  reports(overflow, "the overflow of a thread's stack");
  return 0;
}
