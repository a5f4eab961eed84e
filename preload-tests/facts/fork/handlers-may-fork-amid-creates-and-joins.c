// A handler may fork wherever it interrupts the creation, the join or the end of a thread. The
// child may leave, or return from the handler into the creation or the end, and go on.
// bare: skip libc's fork waits for the lock of the arena that its own thread holds
#include "check.h"
#include <sys/time.h>
enum { FORKS = 400 };
static volatile int forks, joining, in_child;
static __thread int is_main;
static void handler(int s) {
  (void)s;
  int e = errno, st = -1, nth = __atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
  pid_t p = fork();
  if (!p) {
    struct itimerval none = { 0 };
    setitimer(ITIMER_REAL, &none, 0);
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    // The thread that is being joined is not in the child.
    if (nth % 2 || (is_main && joining)) _exit(0);
    in_child = 1;
    return;
  }
  CHECK(p > 0, "fork: %s", strerror(errno));
  while (waitpid(p, &st, 0) < 0 && errno == EINTR) {
  }
  CHECK(st == 0, "fork %d: child ended with status 0x%x", nth, st);
  errno = e;
}
static void *one(void *arg) {
  free(malloc(40000));
  return arg;
}
static void threads(void) {
  pthread_attr_t a = attr_of(256 << 10, 4096), d = attr_of(64 << 10, 4096);
  pthread_t t[3];
  pthread_attr_setdetachstate(&d, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 3; i++) t[i] = start(i == 1 ? &a : 0, one, 0);
  start(&d, one, 0);
  if (is_main) joining = 1;
  // A child that came out of a create has none of these, but may start its own.
  for (int i = 0; i < 3 && !in_child; i++) finish(t[i]);
  if (is_main) joining = 0;
}
int main(void) {
  struct itimerval often = { { 0, 900 }, { 0, 900 } };
  is_main = 1;
  CHECK(signal(SIGALRM, handler) != SIG_ERR, "signal");
  CHECK(!setitimer(ITIMER_REAL, &often, 0), "setitimer");
  while (forks < FORKS && !in_child) threads();
  if (in_child) {
    in_child = 0;
    for (int i = 0; i < 20; i++) threads();
    _exit(0);
  }
  return 0;
}
