// Whatever the arguments of the family of malloc, it refuses exactly those that glibc 2.36 refuses,
// with the same errno; a success leaves errno alone. All these fail or succeed on any machine.
#include "check.h"
#include <malloc.h>
static const size_t odd[] = {
  0, 1, 2, 3, 7, 8, 9, 15, 16, 24, 100, 4095, 4096, 4097, 20000,
  1UL << 62, (1UL << 62) + 1, PTRDIFF_MAX - 4096UL, PTRDIFF_MAX - 100UL, PTRDIFF_MAX, PTRDIFF_MAX + 1UL,
  PTRDIFF_MAX + 2UL, SIZE_MAX / 2 + 4096, SIZE_MAX - 4096, SIZE_MAX - 4095, SIZE_MAX - 100, SIZE_MAX,
};
enum { ODD = sizeof odd / sizeof *odd, FORMER = 77 };
#define IS_HUGE(n) ((n) >= 1UL << 62)

static void judge(const char *what, size_t a, size_t b, void *got, int expected) {
  int e = errno;
  CHECK(!got == (expected != 0) && e == (expected ? expected : FORMER), "%s(%zx, %zx): %p, errno %d, not %d", what, a,
        b, got, e, expected);
}
#define EXPECT(expected, name, a, b, call)                                                                             \
  do {                                                                                                                 \
    errno = FORMER;                                                                                                    \
    void *volatile got_ = call;                                                                                        \
    judge(name, a, b, got_, expected);                                                                                 \
    free(got_);                                                                                                        \
  } while (0)

static void one(size_t n) {
  int huge = IS_HUGE(n) ? ENOMEM : 0;
  EXPECT(huge, "malloc", n, 0, malloc(n));
  EXPECT(huge, "valloc", n, 0, valloc(n));
  EXPECT(huge, "pvalloc", n, 0, pvalloc(n));
  EXPECT(huge, "realloc", 0, n, realloc(0, n));
  char *p = malloc(10);
  CHECK(p, "malloc");
  p[9] = 5;
  errno = FORMER;
  char *volatile q = realloc(p, n);
  // glibc's frees the block if it is to have no bytes.
  if (n) {
    judge("realloc of 10", n, 0, q, huge);
    q = q ? q : p;
    CHECK(n < 10 || q[9] == 5, "realloc lost the contents");
    free(q);
  } else {
    CHECK(!q && errno == FORMER, "realloc(p, 0): %p, errno %d", q, errno);
  }
}
static void two(size_t a, size_t b) {
  size_t product;
  int over = __builtin_mul_overflow(a, b, &product) || IS_HUGE(product);
  EXPECT(over ? ENOMEM : 0, "calloc", a, b, calloc(a, b));
  EXPECT(over ? ENOMEM : 0, "reallocarray", a, b, reallocarray(0, a, b));
  int aligned = a > 1UL << 63 ? EINVAL : IS_HUGE(a) || IS_HUGE(b) ? ENOMEM : 0;
  EXPECT(aligned, "memalign", a, b, memalign(a, b));
  EXPECT(aligned, "aligned_alloc", a, b, aligned_alloc(a, b));
  int power = a && !(a & (a - 1)) && a % sizeof(void *) == 0;
  int expected = !power ? EINVAL : IS_HUGE(a) || IS_HUGE(b) ? ENOMEM : 0;
  void *p = (void *)0x1234;
  errno = FORMER;
  int e = posix_memalign(&p, a, b);
  CHECK(e == expected && errno == (e == ENOMEM ? ENOMEM : FORMER), "posix_memalign(%zx, %zx): %d, errno %d", a, b, e, errno);
  CHECK(e ? p == (void *)0x1234 : (uintptr_t)p % a == 0, "posix_memalign(%zx, %zx) gave %p", a, b, p);
  if (!e) free(p);
}
int main(void) {
  for (int i = 0; i < ODD; i++) {
    one(odd[i]);
    for (int k = 0; k < ODD; k++) two(odd[i], odd[k]);
  }
  return 0;
}
