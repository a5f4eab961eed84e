// In a forked child the threads of the parent are no more: joining or detaching them, be they idle,
// busy or ended before the fork, returns at once as it does bare; setgid works, new threads run,
// and that again and again as their stacks are reused, in children of children too.
#include "check.h"
enum { N = 12 };
static pthread_barrier_t out;
static volatile int stop;
static void *idle(void *arg) {
  pthread_barrier_wait(&out);
  return arg;
}
static void *busy(void *arg) {
  while (!stop) free(malloc(100));
  return arg;
}
static void *quick(void *arg) { return arg; }
static void *fresh(void *arg) {
  volatile char b[9000];
  memset((char *)b, 5, sizeof b);
  free(malloc(500));
  for (size_t i = 0; i < sizeof b; i++) CHECK(b[i] == 5, "stack of a new thread in the child");
  return arg;
}
static pthread_attr_t kinds[3];
static pthread_t t[N];
static void reuse(int rounds) {
  for (int r = 0; r < rounds; r++) {
    pthread_t mine[6];
    for (long i = 0; i < 6; i++) mine[i] = start(i == 5 ? 0 : &kinds[i % 3], fresh, (void *)i);
    if (r % 5 == 0) CHECK(!setgid(getgid()), "setgid: %s", strerror(errno));
    for (long i = 0; i < 6; i++) CHECK(finish(mine[i]) == (void *)i, "result in the child");
  }
}
static void child(int how) {
  alarm(20);
  for (int i = 0; i < N; i++) {
    int e = 0;
    if (how == 0 || (how == 2 && i % 2))
      e = pthread_join(t[i], 0);
    else if (how == 1 || how == 2)
      e = pthread_detach(t[i]);
    CHECK(!e, "kind %d, thread %d of the parent: %s", how, i, strerror(e));
  }
  CHECK(!setgid(getgid()), "setgid: %s", strerror(errno));
  reuse(20);
  if (how < 4) {
    pid_t p = fork();
    if (!p) {
      alarm(20);
      CHECK(!setgid(getgid()), "setgid in the grandchild");
      reuse(10);
      exit(0);
    }
    child_ok(p, "grandchild");
  }
  exit(0);
}
int main(void) {
  // glibc itself unmaps stacks a child may still join when they are more than half its cache.
  kinds[0] = attr_of(128 << 10, 4096);
  kinds[1] = attr_of(512 << 10, 1 << 20);
  kinds[2] = attr_of(2 << 20, 4096);
  for (int round = 0; round < 6; round++)
    for (int how = 0; how < 4; how++) {
      stop = 0;
      pthread_barrier_init(&out, 0, N / 3 + 1);
      for (int i = 0; i < N; i++)
        t[i] = start(&kinds[i % 3], i % 3 == 0 ? idle : i % 3 == 1 ? busy : quick, 0);
      nap_ms(3);
      pid_t p = fork();
      CHECK(p >= 0, "fork");
      if (!p) child(how);
      child_ok(p, "child");
      stop = 1;
      pthread_barrier_wait(&out);
      for (int i = 0; i < N; i++) finish(t[i]);
    }
  return 0;
}
