// A handler may fork wherever it interrupts the heap, in a program with one thread: a child that
// leaves at once, one that starts a program, and one that returns from the handler and goes on.
#include "check.h"
#include <sys/time.h>
enum { N = 64, FORKS = 900 };
static volatile int forks, in_child;
static void handler(int s) {
  (void)s;
  int e = errno, st = -1;
  pid_t p = fork();
  if (!p) {
    struct itimerval none = { 0 };
    setitimer(ITIMER_REAL, &none, 0);
    alarm(20);
    if (forks % 3 == 0) _exit(0);
    if (forks % 30 == 1) execl("/bin/true", "true", (char *)0);
    in_child = 1;
    return;
  }
  CHECK(p > 0, "fork: %s", strerror(errno));
  while (waitpid(p, &st, 0) < 0 && errno == EINTR) {
  }
  CHECK(st == 0, "fork %d: child ended with status 0x%x", forks, st);
  forks++;
  errno = e;
}
int main(void) {
  static unsigned char *p[N];
  static size_t n[N];
  unsigned s = 1;
  int left = 300;
  struct itimerval often = { { 0, 700 }, { 0, 700 } };
  CHECK(signal(SIGALRM, handler) != SIG_ERR, "signal");
  CHECK(!setitimer(ITIMER_REAL, &often, 0), "setitimer");
  while (in_child ? left-- : forks < FORKS) {
    unsigned r = rnd(&s), k = r % N;
    size_t size = r & 64 ? 33000 + (r >> 8) % 70000 : r & 128 ? 1 + (r >> 8) % 900 : (r >> 8) % 700000;
    if (p[k]) CHECK(p[k][0] == k && p[k][n[k] - 1] == k, "a block of %zu bytes changed", n[k]);
    if (r & 1 << 30) {
      p[k] = realloc(p[k], size + 1);
    } else {
      free(p[k]);
      p[k] = malloc(size + 1);
    }
    n[k] = size + 1;
    CHECK(p[k], "%zu bytes", n[k]);
    p[k][0] = p[k][n[k] - 1] = (unsigned char)k;
  }
  if (in_child) {
    CHECK((long)finish(start(0, (void *(*)(void *))malloc, (void *)10L)), "a thread of the child's");
    _exit(0);
  }
  return 0;
}
