// A program linked with an executable stack has executable thread stacks: a nested function's
// address, which is code on the stack, can be called in every thread.
// flags: -O1 -z execstack
#include "check.h"
static int call(int (*f)(int), int x) {
  int (*volatile g)(int) = f;
  return g(x);
}
static void *nested(void *arg) {
  volatile int add = (int)(long)arg;
  int plus(int x) { return x + add; }
  CHECK(call(plus, 40) == 40 + add, "nested function");
  struct vma v = vma_at((uintptr_t)&add);
  CHECK(v.hi && !strcmp(v.perm, "rwxp"), "the stack is '%s'", v.perm);
  return 0;
}
int main(void) {
  const size_t sizes[] = { 64 << 10, 1 << 20, 8 << 20 };
  for (long i = 0; i < 30; i++) {
    pthread_attr_t a = attr_of(sizes[i % 3], i % 2 ? 4096 : 1 << 20);
    finish(start(&a, nested, (void *)i));
    pthread_attr_destroy(&a);
    finish(start(0, nested, (void *)i));
  }
  return 0;
}
