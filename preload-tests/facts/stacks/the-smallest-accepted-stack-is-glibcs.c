// The smallest size that pthread_create accepts is the same as bare, to the byte, whatever the
// program's static TLS, whatever the guard, and a thread on it runs; PTHREAD_STACK_MIN too.
// variant: -DTLS=1
// variant: -DTLS=6000
// variant: -DTLS=30000
// variant: -DTLS=300000
// variant: -DTLS=3000000
// output: same
#include "check.h"
static __thread char tls[TLS];
static void *touch_tls(void *arg) {
  tls[0] = tls[TLS - 1] = 1;
  return arg;
}
static int try(size_t stack, size_t guard) {
  pthread_attr_t a;
  pthread_t t;
  pthread_attr_init(&a);
  int e = pthread_attr_setguardsize(&a, guard);
  CHECK(!e, "guard");
  e = pthread_attr_setstacksize(&a, stack);
  if (!e) e = pthread_create(&t, &a, touch_tls, &a);
  CHECK(e == 0 || e == EINVAL, "%zu gave %d (%s)", stack, e, strerror(e));
  if (!e) CHECK(finish(t) == &a, "result");
  pthread_attr_destroy(&a);
  return e;
}
int main(void) {
  const size_t guards[] = { 0, 4096, 1 << 20 };
  for (int i = 0; i < 3; i++) {
    size_t no = 16383, yes = 16 << 20;
    CHECK(try(yes, guards[i]) == 0 && try(no, guards[i]) == EINVAL, "the ends of the search");
    while (yes - no > 1) {
      size_t mid = no + (yes - no) / 2;
      if (try(mid, guards[i]) == 0)
        yes = mid;
      else
        no = mid;
    }
    printf("guard %zu: %zu\n", guards[i], yes);
  }
  printf("PTHREAD_STACK_MIN %ld: %d\n", (long)PTHREAD_STACK_MIN, try((size_t)PTHREAD_STACK_MIN, 4096));
  return 0;
}
