// When an object that needs executable stacks is loaded, the stacks of threads that already run,
// those cached, and those of later threads all become executable.
// object: nested-function.c -O1 -z execstack
#include "check.h"
#include <dlfcn.h>
enum { N = 6 };
static int (*run_nested)(int);
static pthread_barrier_t loaded, ran;
static void *running(void *arg) {
  pthread_barrier_wait(&ran);
  pthread_barrier_wait(&loaded);
  CHECK(run_nested(40) == 42, "nested function in a thread that ran before the object came");
  struct stack s = stack_of(pthread_self());
  struct vma v = vma_at(s.lo), w = vma_at(s.hi - 1);
  CHECK(!strcmp(v.perm, "rwxp") && !strcmp(w.perm, "rwxp"), "stack is '%s' to '%s'", v.perm, w.perm);
  if (s.guard) {
    v = vma_at(s.lo - 1);
    CHECK(!strcmp(v.perm, "---p"), "the guard became '%s'", v.perm);
  }
  return arg;
}
static void *quick(void *arg) { return arg; }
static void *later(void *arg) {
  CHECK(run_nested(1) == 3, "nested function in a later thread");
  return arg;
}
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&loaded, 0, N + 1);
  pthread_barrier_init(&ran, 0, N + 1);
  for (int i = 0; i < 3; i++) finish(start(0, quick, 0));
  for (int i = 0; i < N; i++) {
    pthread_attr_t a = attr_of((128 << 10) << i, i % 3 ? 4096 : 256 << 10);
    t[i] = start(&a, running, 0);
  }
  pthread_barrier_wait(&ran);
  void *h = dlopen(OBJECTS "/nested-function.so", RTLD_NOW);
  CHECK(h, "dlopen: %s", dlerror());
  run_nested = (int (*)(int))dlsym(h, "run_nested");
  CHECK(run_nested, "dlsym");
  CHECK(run_nested(0) == 2, "nested function in main");
  pthread_barrier_wait(&loaded);
  for (int i = 0; i < N; i++) finish(t[i]);
  for (int i = 0; i < 3; i++) {
    finish(start(0, later, 0));
    for (int k = 0; k < N; k++) {
      pthread_attr_t a = attr_of((128 << 10) << k, 4096);
      finish(start(&a, later, 0));
    }
  }
  return 0;
}
