// Fork while other threads are inside the allocator and while threads are created and joined: each
// child uses the heap, starts threads, forks again and exits. A child of a locked parent is not
// locked.
#include "check.h"
static volatile int stop;
static void *heap(void *arg) {
  unsigned s = (unsigned)(long)arg;
  void *p[50] = { 0 };
  while (!stop) {
    unsigned r = rnd(&s), k = r % 50;
    free(p[k]);
    p[k] = malloc((r >> 8) % (r & 128 ? 200000 : 400));
    if (r % 256 == 0) p[k] = realloc(p[k], 70000);
  }
  for (int k = 0; k < 50; k++) free(p[k]);
  return 0;
}
static void *one(void *arg) {
  free(calloc(10, 100));
  return arg;
}
static void *churn(void *arg) {
  while (!stop) {
    pthread_t t;
    if (!pthread_create(&t, 0, one, 0)) pthread_join(t, 0);
  }
  return arg;
}
static void handler(void) { free(malloc(77)); }
static void child(int i) {
  alarm(20);
  for (int k = 0; k < 40; k++) {
    char *p = malloc(1UL << k % 18);
    CHECK(p, "malloc in the child");
    p[0] = 1;
    p = realloc(p, 1UL << (k + 3) % 18);
    CHECK(p && p[0] == 1, "realloc in the child");
    free(p);
  }
  CHECK(finish(start(0, one, (void *)3L)) == (void *)3L, "thread in the child");
  if (i % 7 == 0) {
    pid_t q = fork();
    if (!q) {
      free(calloc(3, 50));
      _exit(0);
    }
    child_ok(q, "grandchild");
  }
  if (i % 2) exit(0);
  _exit(0);
}
int main(void) {
  pthread_t t[5];
  int n = 0;
  alarm(28);
  pthread_atfork(handler, handler, handler);
  double t0 = now_s();
  for (long i = 0; i < 3; i++) t[i] = start(0, heap, (void *)(i + 1));
  for (int i = 3; i < 5; i++) t[i] = start(0, churn, 0);
  while (n < 200 && now_s() - t0 < 2) {
    pid_t p = fork();
    CHECK(p >= 0, "fork: %s", strerror(errno));
    if (!p) child(n);
    free(malloc(300));
    child_ok(p, "child");
    n++;
  }
  stop = 1;
  for (int i = 0; i < 5; i++) finish(t[i]);
  if (has_cap(CAP_IPC_LOCK_)) {
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
    pid_t p = fork();
    if (!p) {
      pthread_attr_t a = attr_of(64 << 20, 4096);
      long rss = status_kb("VmRSS");
      finish(start(&a, one, 0));
      char *big = malloc(50 << 20);
      CHECK(big, "malloc");
      CHECK(status_kb("VmRSS") - rss < 8 << 10, "the unlocked child took memory before its use");
      CHECK(status_kb("VmLck") == 0, "the child has locked memory");
      _exit(0);
    }
    child_ok(p, "child of a locked parent");
  }
  CHECK(n >= 5, "only %d forks in 2 s", n);
  INFO("%d forks", n);
  return 0;
}
