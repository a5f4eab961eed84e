// pthread_setattr_default_np sets size and guard of threads created without attributes, and the
// size alone of threads whose attributes name none; bad values are refused as glibc refuses them.
// output: same
#include "check.h"
static struct stack s;
static void *probe(void *arg) {
  s = stack_of(pthread_self());
  return arg;
}
// Every request is larger than those before it, so that no cached stack serves it.
static void one(const char *what, size_t stack, size_t guard) {
  pthread_attr_t a, none;
  pthread_attr_init(&a);
  if (stack) pthread_attr_setstacksize(&a, stack);
  pthread_attr_setguardsize(&a, guard);
  int e = pthread_setattr_default_np(&a);
  printf("%s: set %d", what, e);
  finish(start(0, probe, 0));
  printf(", without attributes %zu+%zu", s.size, s.guard);
  if (!e && stack) CHECK(s.size == stack, "%s: stack %zu", what, s.size);
  pthread_attr_init(&none);
  finish(start(&none, probe, 0));
  printf(", with untouched ones %zu+%zu", s.size, s.guard);
  pthread_attr_setguardsize(&none, 3 * 4096);
  finish(start(&none, probe, 0));
  printf(", with a guard of its own %zu+%zu\n", s.size, s.guard);
}
int main(void) {
  one("small", 300 << 10, 64 << 10);
  one("no guard", 1300 << 10, 0);
  one("large guard", 6 << 20, 5 << 20);
  one("odd guard", 30 << 20, 5000);
  one("no size", 0, 8192);
  one("large", 125 << 20, 4096);
  pthread_attr_t a;
  pthread_attr_init(&a);
  static char mine[65536] __attribute__((aligned(4096)));
  pthread_attr_setstack(&a, mine, sizeof mine);
  int e = pthread_setattr_default_np(&a);
  CHECK(e == EINVAL, "a default stack address gave %d", e);
  printf("with an address: %d\n", e);
  return 0;
}
