// A locked program that has used up its lock limit gets NULL; what it allocated before is whole,
// what it frees can be had again, and threads within the limit still start. The errno is ENOMEM,
// as POSIX wants it (glibc 2.36 passes the kernel's EAGAIN on for some sizes).
// user: ordinary
// variant: -DEAGAIN_TOO -DSIZE=100
// variant: -DEAGAIN_TOO -DSIZE=5000
// variant: -DEAGAIN_TOO -DSIZE=100000
// variant: -DEAGAIN_TOO -DSIZE=700000
// variant (bare fails): -DSIZE=100
// variant (bare fails): -DSIZE=5000
// variant (bare fails): -DSIZE=100000
// variant (bare fails): -DSIZE=700000
// fails-with: errno 11
#include "check.h"
#include <malloc.h>
struct block {
  struct block *next;
  size_t n;
  unsigned char fill[];
};
static void set(struct block *b, size_t n) {
  b->n = n;
  memset(b->fill, (int)(n * 31 % 251), n - sizeof *b);
}
static void check(struct block *b) {
  for (size_t i = 0; i < b->n - sizeof *b; i++)
    CHECK(b->fill[i] == b->n * 31 % 251, "byte %zu of a block of %zu changed", i, b->n);
}
static void refused(int e) {
#ifdef EAGAIN_TOO
  CHECK(e == ENOMEM || e == EAGAIN, "errno %d (%s)", e, strerror(e));
#else
  CHECK(e == ENOMEM, "errno %d (%s)", e, strerror(e));
#endif
}
static void *quick(void *arg) { return arg; }
int main(void) {
  set_limit(RLIMIT_MEMLOCK, 8 << 20);
  CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  size_t first = 0;
  pthread_attr_t a = attr_of(32 << 10, 4096);
  for (int round = 0; round < 4; round++) {
    struct block *all = 0;
    size_t count = 0, bytes = 0;
    for (;; count++) {
      size_t n = SIZE + count % 7 * 16;
      errno = 0;
      struct block *b = round % 2 ? (struct block *)calloc(1, n) : (struct block *)malloc(n);
      if (!b) {
        refused(errno);
        break;
      }
      CHECK(bytes < 64 << 20, "the limit does not hold");
      set(b, n);
      b->next = all;
      all = b;
      bytes += n;
    }
    CHECK(bytes > 2 << 20, "round %d: only %zu bytes were had", round, bytes);
    if (round == 0) first = bytes;
    CHECK(bytes > first / 10 * 8, "round %d: %zu bytes, %zu the first time", round, bytes, first);
    errno = 0;
    CHECK(!realloc(all, 200 << 20), "200 MiB");
    refused(errno);
    errno = 0;
    CHECK(!memalign(4096, 100 << 20), "100 MiB, aligned");
    refused(errno);
    void *p = all;
    CHECK(posix_memalign(&p, 64, 100 << 20) != 0 && p == all, "posix_memalign");
    // Half of it back, and then there is room again.
    for (struct block **at = &all; *at;) {
      struct block *b = *at;
      check(b);
      *at = b->next;
      free(b);
      if (*at) at = &(*at)->next;
    }
    for (size_t i = 0; i < count / 4; i++) {
      size_t n = SIZE + i % 7 * 16;
      struct block *b = malloc(n);
      CHECK(b, "block %zu of %zu after half was freed", i, count / 4);
      set(b, n);
      b->next = all;
      all = b;
    }
    while (all) {
      struct block *b = all;
      check(b);
      all = b->next;
      free(b);
    }
    malloc_trim(0);
    CHECK(finish(start(&a, quick, &first)) == &first, "a thread afterwards");
  }
  return 0;
}
