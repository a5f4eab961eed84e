// mallinfo2 and mallinfo count: what is in use grows by what is allocated, by any thread, and falls
// when it is freed; what is mapped is never less.
#include "check.h"
#include <malloc.h>
enum { N = 1000 };
static void *p[N], *q[N];
static void *fill(void *arg) {
  for (int i = 0; i < N; i++) {
    q[i] = malloc(7000);
    CHECK(q[i], "malloc");
  }
  return arg;
}
static size_t in_use(void) {
  struct mallinfo2 m = mallinfo2();
  CHECK(m.uordblks + m.fordblks <= m.arena + (1 << 20), "in use %zu and free %zu, of %zu", m.uordblks, m.fordblks, m.arena);
  return m.uordblks + m.hblkhd;
}
static void grew(size_t from, size_t to, size_t by, const char *what) {
  CHECK(to >= from + by && to <= from + by + by / 4 + (128 << 10), "%s: in use went from %zu to %zu, for %zu", what, from,
        to, by);
}
int main(void) {
  free(malloc(100));
  size_t a = in_use();
  for (int i = 0; i < N; i++) CHECK((p[i] = malloc(5000)), "malloc");
  size_t b = in_use();
  grew(a, b, N * 5000UL, "small blocks");
  finish(start(0, fill, 0));
  size_t c = in_use();
  grew(b, c, N * 7000UL, "another thread's blocks");
  void *big = malloc(50 << 20);
  size_t d = in_use();
  grew(c, d, 50 << 20, "a large block");
  struct mallinfo2 m = mallinfo2();
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  struct mallinfo o = mallinfo();
  CHECK((size_t)o.uordblks == m.uordblks && (size_t)o.hblkhd == m.hblkhd && (size_t)o.arena == m.arena,
        "mallinfo says %d %d %d, mallinfo2 %zu %zu %zu", o.uordblks, o.hblkhd, o.arena, m.uordblks, m.hblkhd, m.arena);
  free(big);
  size_t e = in_use();
  CHECK(e + (49 << 20) < d, "a large block was freed: from %zu to %zu", d, e);
  for (int i = 0; i < N; i++) {
    free(p[i]);
    free(q[i]);
  }
  size_t f = in_use();
  CHECK(f < a + (1 << 20), "all was freed: %zu in use, %zu before", f, a);
  return 0;
}
