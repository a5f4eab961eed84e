// The stacks of the parent's threads are of no use in a child but to its own threads: twenty new
// ones run on them, and address space hardly grows, however often that is repeated.
// env: MALLOC_ARENA_MAX=1
#include "check.h"
enum { N = 20 };
static pthread_barrier_t out, here;
static void *idle(void *arg) {
  pthread_barrier_wait(&out);
  return arg;
}
static void *meet(void *arg) {
  pthread_barrier_wait(&here);
  return arg;
}
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t a = attr_of(2 << 20, 4096);
  for (int i = 0; i < N; i++) t[i] = start(&a, idle, 0);
  nap_ms(10);
  pid_t p = fork();
  CHECK(p >= 0, "fork");
  if (!p) {
    alarm(20);
    pthread_t mine[N];
    long size = status_kb("VmSize");
    int maps = count_maps();
    for (int round = 0; round < 50; round++) {
      pthread_barrier_init(&here, 0, N + 1);
      for (int i = 0; i < N; i++) mine[i] = start(&a, meet, 0);
      pthread_barrier_wait(&here);
      for (int i = 0; i < N; i++) finish(mine[i]);
    }
    size = status_kb("VmSize") - size;
    maps = count_maps() - maps;
    CHECK(size < 5 << 10 && maps < N, "the child's threads took %ld kB of new address space, %d mappings", size, maps);
    exit(0);
  }
  child_ok(p, "child");
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  return 0;
}
