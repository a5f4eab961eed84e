// Fork handlers of other libraries, registered before and after any of the library under test, use
// the heap in all three places, free each other's blocks and start a thread in the child, while
// other threads are busy in the heap.
// linked: early-fork-handlers.c
#include "check.h"
extern int early_prepared, early_parents, early_children;
extern void *early_block;
static int prepared, parents, children;
static void *block;
static volatile int stop;
static void *quick(void *arg) {
  free(malloc(50));
  return arg;
}
static void *busy(void *arg) {
  unsigned s = (unsigned)(long)arg + 1;
  void *p[30] = { 0 };
  while (!stop) {
    unsigned k = rnd(&s) % 30;
    free(p[k]);
    p[k] = malloc(1 + rnd(&s) % (rnd(&s) % 4 ? 500 : 400000));
  }
  for (int k = 0; k < 30; k++) free(p[k]);
  return 0;
}
static void use(void) {
  void *v[20];
  for (int i = 0; i < 20; i++) v[i] = malloc(16UL << i % 16);
  for (int i = 0; i < 20; i++) {
    CHECK(v[i], "malloc in a handler");
    free(v[i]);
  }
}
static void prepare(void) {
  prepared++;
  use();
  block = malloc(1000);
  memset(block, 3, 1000);
}
static void parent(void) {
  parents++;
  free(block);
  use();
}
static void child(void) {
  children++;
  CHECK(((char *)block)[999] == 3, "block in the child");
  block = realloc(block, 100000);
  free(block);
  use();
  CHECK(finish(start(0, quick, &block)) == &block, "thread in a child's handler");
}
int main(void) {
  pthread_t t[3];
  alarm(25);
  CHECK(!pthread_atfork(prepare, parent, child), "atfork");
  for (long i = 0; i < 3; i++) t[i] = start(0, busy, (void *)i);
  int i = 1;
  for (double t0 = now_s(); i <= 150 && now_s() - t0 < 2; i++) {
    pid_t p = fork();
    CHECK(p >= 0, "fork");
    if (!p) {
      alarm(20);
      CHECK(children == 1 && early_children == 1, "handlers in the child ran %d and %d times", children, early_children);
      CHECK(early_block, "block of the early handler");
      free(early_block);
      use();
      exit(0);
    }
    child_ok(p, "child");
    CHECK(prepared == i && parents == i && early_prepared == i && early_parents == i, "handlers ran %d %d %d %d of %d",
          prepared, parents, early_prepared, early_parents, i);
  }
  stop = 1;
  for (int k = 0; k < 3; k++) finish(t[k]);
  CHECK(i > 5, "only %d forks", i - 1);
  INFO("%d forks", i - 1);
  return 0;
}
