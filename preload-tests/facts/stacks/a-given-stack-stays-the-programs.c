// pthread_attr_setstack: the memory is the program's. The thread runs on it, no guard is carved
// out of it, its neighbours are untouched, and right after the join it may be reused or unmapped.
#include "check.h"
struct given {
  char *lo;
  size_t n;
};
static void *on_it(void *v) {
  struct given *w = v;
  char here;
  uintptr_t me = (uintptr_t)&here;
  CHECK(me >= (uintptr_t)w->lo && me < (uintptr_t)w->lo + w->n, "not running on the given stack");
  struct stack s = stack_of(pthread_self());
  CHECK(s.lo == (uintptr_t)w->lo && s.size == w->n, "getattr says %lx+%zu, given %p+%zu", s.lo, s.size, (void *)w->lo,
        w->n);
  CHECK(s.guard == 0, "a guard of %zu on a given stack", s.guard);
  w->lo[0] = 0x11;
  w->lo[4096] = 0x22;
  char *h = malloc(100);
  CHECK(h, "malloc");
  strcpy(h, "x");
  free(h);
  return w;
}

int main(void) {
  const size_t n = 128 << 10, pad = 4096;
  for (int i = 0; i < 1500; i++) {
    char *base = mmap(0, n + 2 * pad, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(base != MAP_FAILED, "mmap");
    memset(base, 0x5A, pad);
    memset(base + pad + n, 0x5A, pad);
    struct given w = { base + pad, n };
    for (int rep = 0; rep < 2; rep++) {
      pthread_attr_t a;
      pthread_attr_init(&a);
      CHECK(!pthread_attr_setstack(&a, w.lo, n), "setstack");
      CHECK(finish(start(&a, on_it, &w)) == &w, "result");
      pthread_attr_destroy(&a);
      CHECK(w.lo[0] == 0x11 && w.lo[4096] == 0x22, "the memory changed after the join");
    }
    for (size_t k = 0; k < pad; k++)
      CHECK(base[k] == 0x5A && base[pad + n + k] == 0x5A, "a neighbour byte changed");
    if (i & 1) {
      memset(w.lo, 0xEE, n);
      for (size_t k = 0; k < n; k += 64) CHECK((unsigned char)w.lo[k] == 0xEE, "someone still writes");
    }
    CHECK(!munmap(base, n + 2 * pad), "munmap");
  }
  return 0;
}
