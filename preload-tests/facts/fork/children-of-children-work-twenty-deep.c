// Each child starts threads, leaves some running, frees what its ancestors allocated and forks the
// next, twenty deep; every one of them exits cleanly.
#include "check.h"
static pthread_barrier_t never;
static void *stay(void *arg) {
  free(malloc(300));
  pthread_barrier_wait(&never);
  return arg;
}
static void *quick(void *arg) { return malloc((size_t)arg); }
static void level(int n, void *inherited) {
  alarm(25);
  free(inherited);
  pthread_attr_t a = attr_of(64 << 10, 4096);
  for (int i = 0; i < 4; i++) start(i % 2 ? &a : 0, stay, 0);
  void *mine = finish(start(0, quick, (void *)5000));
  CHECK(mine, "malloc in a thread of level %d", n);
  for (int i = 0; i < 10; i++) free(finish(start(&a, quick, (void *)(long)(100 + i))));
  CHECK(!setgid(getgid()), "setgid at level %d", n);
  if (n < 20) {
    pid_t p = fork();
    if (!p) level(n + 1, mine);
    child_ok(p, "next level");
  }
  free(mine);
  exit(0);
}
int main(void) {
  pthread_barrier_init(&never, 0, 1000);
  level(0, malloc(10));
  return 1;
}
