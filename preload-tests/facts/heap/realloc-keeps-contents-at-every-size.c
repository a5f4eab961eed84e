// realloc, growing and shrinking over every order of size, in place or not, keeps what both sizes
// have in common, gives 16-byte alignment and a usable size that suffices; so does reallocarray.
#include "check.h"
#include <malloc.h>
static unsigned char at(size_t i, unsigned salt) { return (unsigned char)(i * 7 + (i >> 8) + salt); }
static void fill(unsigned char *p, size_t from, size_t to, unsigned salt) {
  for (size_t i = from; i < to; i++) p[i] = at(i, salt);
}
static void check(unsigned char *p, size_t n, unsigned salt, size_t was, size_t is) {
  size_t step = n > 20000 ? 61 : 1;
  for (size_t i = 0; i < n; i += step) CHECK(p[i] == at(i, salt), "byte %zu, from %zu to %zu", i, was, is);
  if (n) CHECK(p[n - 1] == at(n - 1, salt), "the last byte, from %zu to %zu", was, is);
}
int main(void) {
  unsigned s = 99;
  unsigned char *other[30] = { 0 };
  size_t size[30] = { 0 };
  // A chain of growth and shrinkage for thirty blocks at once, so that neighbours are in use.
  for (int i = 0; i < 12000; i++) {
    unsigned k = rnd(&s) % 30;
    size_t n = 1 + (size_t)rnd(&s) % (1UL << (4 + rnd(&s) % 17)), was = size[k];
    unsigned char *p = i % 3 ? realloc(other[k], n) : reallocarray(other[k], n, 1);
    CHECK(p && !((uintptr_t)p % 16) && malloc_usable_size(p) >= n, "realloc to %zu: %p", n, (void *)p);
    check(p, was < n ? was : n, k, was, n);
    fill(p, was < n ? was : 0, n, k);
    fill(p, 0, n, k);
    other[k] = p;
    size[k] = n;
  }
  for (int k = 0; k < 30; k++) {
    check(other[k], size[k], (unsigned)k, size[k], 0);
    free(other[k]);
  }
  // Step by step, as strings and buffers grow, through every boundary.
  unsigned char *p = 0;
  for (size_t n = 1; n < 30000; n += n < 3000 ? 1 : 37) {
    p = realloc(p, n);
    CHECK(p, "realloc");
    p[n - 1] = at(n - 1, 1);
    if (n % 16 == 0 && n < 3000) check(p, n, 1, n, n);
  }
  free(p);
  p = 0;
  size_t was = 0;
  for (size_t n = 1 << 16; n <= 96 << 20; n += n / 2 + 12345) {
    p = realloc(p, n);
    CHECK(p, "realloc to %zu", n);
    check(p, was, 2, was, n);
    fill(p, was, n, 2);
    was = n;
  }
  for (size_t n = was; n > 100; n /= 3) {
    p = realloc(p, n);
    CHECK(p, "realloc down to %zu", n);
    check(p, n, 2, was, n);
    was = n;
  }
  free(p);
  // Aligned blocks may lose their alignment, never their contents.
  for (size_t al = 32; al <= 1 << 20; al *= 4)
    for (size_t n = 1; n < 300000; n = n * 5 + 3) {
      p = memalign(al, n);
      fill(p, 0, n, 3);
      p = realloc(p, n * 3 + 1);
      CHECK(p, "realloc");
      check(p, n, 3, n, n * 3 + 1);
      p = realloc(p, n / 2 + 1);
      check(p, n / 2 + (n > 1), 3, n * 3 + 1, n / 2 + 1);
      free(p);
    }
  return 0;
}
