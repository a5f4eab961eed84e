// A handler may fork wherever it interrupts the heap, in a program whose other threads are in the
// heap and fork from handlers too. The child may return from the handler and go on.
// bare: skip libc's fork waits for the lock of the arena that its own thread holds
#include "check.h"
enum { N = 32, THREADS = 3, FORKS = 250 };
static volatile int forks, stop;
static __thread int in_child;
static void handler(int s) {
  (void)s;
  int e = errno, st = -1, nth = __atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
  pid_t p = fork();
  if (!p) {
    alarm(20);
    if (nth % 2) _exit(0);
    signal(SIGUSR1, SIG_IGN);
    in_child = 1;
    return;
  }
  CHECK(p > 0, "fork: %s", strerror(errno));
  while (waitpid(p, &st, 0) < 0 && errno == EINTR) {
  }
  CHECK(st == 0, "fork %d: child ended with status 0x%x", nth, st);
  errno = e;
}
static void *use(void *arg) {
  unsigned char *p[N] = { 0 };
  size_t n[N];
  unsigned s = (unsigned)(long)arg;
  static unsigned char *shared[N];
  int left = 300;
  while (in_child ? left-- : !stop) {
    unsigned r = rnd(&s), k = r % N;
    size_t size = r & 64 ? 33000 + (r >> 8) % 70000 : r & 128 ? 1 + (r >> 8) % 900 : (r >> 8) % 700000;
    if (p[k]) CHECK(p[k][0] == k && p[k][n[k] - 1] == k, "a block of %zu bytes changed", n[k]);
    free(__atomic_exchange_n(&shared[k], p[k], __ATOMIC_ACQ_REL));
    p[k] = malloc(size + 1);
    CHECK(p[k], "%zu bytes", size);
    n[k] = size + 1;
    p[k][0] = p[k][size] = (unsigned char)k;
  }
  if (in_child) {
    finish(start(0, (void *(*)(void *))malloc, (void *)10L));
    for (int k = 0; k < N; k++) free(p[k]);
    CHECK(calloc(1, 500000), "calloc in the child");
    _exit(0);
  }
  for (int k = 0; k < N; k++) free(p[k]);
  return 0;
}
int main(void) {
  pthread_t t[THREADS];
  alarm(28);
  CHECK(signal(SIGUSR1, handler) != SIG_ERR, "signal");
  for (long i = 0; i < THREADS; i++) t[i] = start(0, use, (void *)(i + 1));
  for (int i = 0; forks < FORKS; i++) {
    pthread_kill(t[i % THREADS], SIGUSR1);
    nap_ms(1);
  }
  stop = 1;
  for (int i = 0; i < THREADS; i++) finish(t[i]);
  return 0;
}
