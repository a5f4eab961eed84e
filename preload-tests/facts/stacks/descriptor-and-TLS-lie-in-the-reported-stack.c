// The thread's descriptor and its static TLS come out of the size asked, at the top of the stack
// that pthread_getattr_np reports; collectors that scan the reported stack find them there.
#include "check.h"
static __thread char tls[20000] = { 1 };
static void *look(void *arg) {
  struct stack s = stack_of(pthread_self());
  uintptr_t self = (uintptr_t)pthread_self(), lo = (uintptr_t)tls, here = (uintptr_t)&s;
  CHECK(self > s.lo && self < s.hi, "the descriptor %lx is outside of [%lx,%lx)", self, s.lo, s.hi);
  CHECK(lo > here && lo + sizeof tls < s.hi, "the TLS %lx is not between the frame and the end %lx", lo, s.hi);
  CHECK(s.hi - self < 8192, "the descriptor is %lu bytes below the end", s.hi - self);
  CHECK(s.size == *(size_t *)arg, "stack %zu, asked %zu", s.size, *(size_t *)arg);
  return 0;
}
int main(void) {
  // Growing requests, so that no larger cached stack is reported instead.
  for (size_t n = 64 << 10; n <= 64 << 20; n *= 4) {
    pthread_attr_t a = attr_of(n, 4096);
    finish(start(&a, look, &n));
    pthread_attr_destroy(&a);
  }
  return 0;
}
