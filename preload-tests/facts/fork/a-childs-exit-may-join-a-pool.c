// A library that joins its pool of threads in a destructor or exit handler: the parent's pool,
// which does not exist in a forked child, is joined there at once; a pool the child made is joined
// with its results. Both children exit with their own code.
#include "check.h"
enum { N = 8 };
static pthread_t pool[N];
static int made;
static pid_t pid;
static volatile int stop;
static void *worker(void *arg) {
  while (!stop) {
    free(malloc(200));
    nap_ms(1);
  }
  return arg;
}
static void start_pool(void) {
  stop = 0;
  // glibc itself unmaps stacks a child may still join when they are more than half its cache.
  pthread_attr_t a = attr_of(1 << 20, 4096);
  for (long i = 0; i < N; i++) pool[i] = start(&a, worker, (void *)i);
  made = 1;
  pid = getpid();
}
static void join_pool(void) {
  stop = 1;
  if (!made) return;
  for (long i = 0; i < N; i++) {
    void *r = 0;
    int e = pthread_join(pool[i], &r);
    CHECK(!e, "join at exit: %s", strerror(e));
    if (pid == getpid()) CHECK(r == (void *)i, "result of a thread of this process");
  }
  made = 0;
}
static int ended_with(pid_t p) {
  int st;
  CHECK(waitpid(p, &st, 0) == p, "waitpid");
  return st;
}
int main(void) {
  atexit(join_pool);
  start_pool();
  for (int i = 0; i < 20; i++) {
    pid_t p = fork();
    CHECK(p >= 0, "fork");
    if (!p) {
      alarm(20);
      if (i % 2) {
        join_pool();
        start_pool();
      }
      exit(30 + i);
    }
    int st = ended_with(p);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 30 + i, "child %d ended with 0x%x", i, st);
  }
  return 0;
}
