// The small print of the allocation interface as glibc 2.36 has it: zero sizes, sizes too large,
// alignments legal and not, usable sizes, errno.
#include "check.h"
#include <malloc.h>
static volatile size_t PM = PTRDIFF_MAX, SM = SIZE_MAX;
#define REFUSED(e)                                                             \
  do {                                                                         \
    errno = 0;                                                                 \
    void *volatile r_ = (e);                                                   \
    CHECK(!r_ && errno == ENOMEM, #e " gave %p, errno %d", r_, errno);         \
  } while (0)

static void zero_sizes(void) {
  void *a = malloc(0), *b = malloc(0);
  CHECK(a && b && a != b, "malloc(0)");
  free(a);
  free(b);
  a = calloc(0, 8);
  b = calloc(8, 0);
  CHECK(a && b && a != b, "calloc of nothing");
  free(b);
  a = realloc(a, 40);
  CHECK(a, "growth from nothing");
  a = realloc(a, 0);
  CHECK(!a, "realloc(p, 0)");
  a = realloc(0, 0);
  CHECK(a, "realloc(0, 0)");
  a = reallocarray(a, 5, 0);
  CHECK(!a, "reallocarray(p, 5, 0)");
  a = memalign(64, 0);
  CHECK(a && !((uintptr_t)a % 64), "memalign(64, 0)");
  free(a);
  free(0);
  CHECK(malloc_usable_size(0) == 0, "usable size of nothing");
}
static void too_large(void) {
  REFUSED(malloc(PM + 1));
  REFUSED(malloc(SM));
  REFUSED(malloc(SM - 7));
  REFUSED(calloc(PM, 3));
  REFUSED(calloc(SM / 2, 3));
  REFUSED(calloc(1UL << 32, 1UL << 32));
  REFUSED(valloc(PM + 1));
  REFUSED(pvalloc(SM));
  REFUSED(pvalloc(SM - 4095));
  REFUSED(memalign(64, PM + 1));
  REFUSED(memalign(1UL << 40, PM));
  REFUSED(aligned_alloc(4096, SM - 100));
  REFUSED(reallocarray(0, SM / 4, 8));
  REFUSED(realloc(0, PM + 1));
  char *p = malloc(100);
  memset(p, 0x77, 100);
  REFUSED(realloc(p, PM + 1));
  REFUSED(reallocarray(p, SM / 2, 4));
  for (int i = 0; i < 100; i++) CHECK(p[i] == 0x77, "the old block changed");
  free(p);
  void *q = (void *)0x1234;
  int e = posix_memalign(&q, 64, PM + 1);
  CHECK(e == ENOMEM && q == (void *)0x1234, "posix_memalign too large: %d, %p", e, q);
}
static void alignments(void) {
  const size_t bad[] = { 0, 1, 2, 4, 3, 12, 24, 48, 4095 };
  void *q;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    q = (void *)0x1234;
    int e = posix_memalign(&q, bad[i], 32);
    CHECK(e == EINVAL && q == (void *)0x1234, "posix_memalign(%zu): %d, %p", bad[i], e, q);
  }
  for (size_t al = 8; al <= 4 << 20; al *= 2)
    for (size_t n = 0; n < 70000; n = n * 3 + 1) {
      CHECK(!posix_memalign(&q, al, n) && q && !((uintptr_t)q % al), "posix_memalign %zu %zu", al, n);
      memset(q, 5, n);
      q = realloc(q, n + 5000);
      CHECK(q, "realloc of an aligned block");
      for (size_t k = 0; k < n; k += 97) CHECK(((char *)q)[k] == 5, "an aligned block moved wrongly");
      free(q);
      q = memalign(al, n);
      CHECK(q && !((uintptr_t)q % al), "memalign %zu %zu", al, n);
      memset(q, 1, n);
      free(q);
      q = aligned_alloc(al, n);
      CHECK(q && !((uintptr_t)q % al) && malloc_usable_size(q) >= n, "aligned_alloc %zu %zu", al, n);
      memset(q, 1, malloc_usable_size(q));
      free(q);
    }
  q = memalign(24, 100);
  CHECK(q && !((uintptr_t)q % 32), "memalign rounds 24 up to 32");
  free(q);
  q = memalign(0, 10);
  CHECK(q, "memalign(0)");
  free(q);
  errno = 0;
  q = memalign((1UL << 63) + 1, 10);
  CHECK(!q && errno == EINVAL, "an alignment that has no power of two above it: %p, errno %d", q, errno);
  q = valloc(10);
  CHECK(q && !((uintptr_t)q % 4096), "valloc");
  free(q);
  q = pvalloc(1);
  CHECK(q && !((uintptr_t)q % 4096) && malloc_usable_size(q) >= 4096, "pvalloc");
  memset(q, 1, 4096);
  free(q);
  q = pvalloc(4097);
  CHECK(q && malloc_usable_size(q) >= 8192, "pvalloc rounds up");
  free(q);
  for (size_t i = 0; i < 3000; i++) {
    q = malloc(i);
    void *r = calloc(1, i), *s = realloc(malloc(1), i + 1);
    CHECK(!((uintptr_t)q % 16) && !((uintptr_t)r % 16) && !((uintptr_t)s % 16), "%zu bytes at %p %p %p", i, q, r, s);
    free(q);
    free(r);
    free(s);
  }
}
static void usable(void) {
  enum { N = 400 };
  static unsigned char *v[N];
  static size_t u[N];
  for (size_t i = 0; i < N; i++) {
    size_t n = i * 37 % 5000 + (i % 50 == 0) * 300000;
    v[i] = malloc(n);
    u[i] = malloc_usable_size(v[i]);
    CHECK(u[i] >= n, "usable size %zu of %zu", u[i], n);
    memset(v[i], (int)i, u[i]);
  }
  for (size_t i = 0; i < N; i++) {
    for (size_t k = 0; k < u[i]; k++) CHECK(v[i][k] == (unsigned char)i, "blocks overlap");
    CHECK(malloc_usable_size(v[i]) == u[i], "the usable size changed");
  }
  for (size_t i = 0; i < N; i++) free(v[i]);
}
static void errno_is_kept(void) {
  const size_t n[] = { 10, 1000, 40000, 140000, 3 << 20, 40 << 20 };
  for (int r = 0; r < 3; r++)
    for (int i = 0; i < 6; i++) {
      char *p = malloc(n[i]);
      CHECK(p, "malloc");
      p[0] = 1;
      errno = 4321;
      free(p);
      CHECK(errno == 4321, "free of %zu bytes set errno to %d", n[i], errno);
      free(0);
      CHECK(errno == 4321, "free(0) set errno to %d", errno);
      void *q = memalign(4096, n[i]);
      errno = 4321;
      free(q);
      CHECK(errno == 4321, "free of %zu aligned bytes set errno to %d", n[i], errno);
      void *w = 0;
      int e = posix_memalign(&w, 3, 8);
      CHECK(e == EINVAL && errno == 4321, "posix_memalign set errno to %d", errno);
    }
}
int main(void) {
  zero_sizes();
  too_large();
  alignments();
  usable();
  errno_is_kept();
  zero_sizes();
  CHECK(mallopt(M_ARENA_MAX, 2) == 1 && mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1, "mallopt");
  char *p = malloc(50 << 20);
  memset(p, 1, 50 << 20);
  free(p);
  return 0;
}
