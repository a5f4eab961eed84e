// A program may reach libc's own malloc past a preloaded one, by its version or as the next
// definition after another library's: such blocks, of every size and kind, from main and from
// threads, can be resized, measured and freed by the program's usual calls.
// linked: next-malloc.c
#include "check.h"
#include <dlfcn.h>
#include <malloc.h>
static void *(*m)(size_t), *(*c)(size_t, size_t), *(*r)(void *, size_t), *(*ma)(size_t, size_t), *(*lm)(size_t);
static int (*pm)(void **, size_t, size_t);
static void (*f)(void *);
extern void *next_malloc(size_t), *next_libc_malloc(size_t);
static void *get(int way, size_t n) {
  void *p = 0;
  switch (way) {
    case 0: return m(n);
    case 1: return c(1, n);
    case 2: return r(m(1), n);
    case 3: return ma(64, n);
    case 4: return ma(8192, n);
    case 5: return pm(&p, 256, n) ? 0 : p;
    case 6: return lm(n);
    case 7: return next_malloc(n);
    case 8: return next_libc_malloc(n);
    default: return malloc(n);
  }
}
enum { WAYS = 9 };
static void each(void) {
  for (int way = 0; way < WAYS; way++)
    for (size_t n = 1; n < 4 << 20; n = n * 3 + 5) {
      unsigned char *p[6];
      for (int i = 0; i < 6; i++) {
        p[i] = get(way, n);
        CHECK(p[i], "way %d, %zu bytes", way, n);
        memset(p[i], i + way, n);
      }
      CHECK(malloc_usable_size(p[0]) >= n, "way %d: usable size %zu of %zu", way, malloc_usable_size(p[0]), n);
      free(p[0]);
      p[1] = realloc(p[1], n * 2 + 100);
      CHECK(p[1] && p[1][0] == 1 + way && p[1][n - 1] == 1 + way, "way %d: resized from %zu", way, n);
      memset(p[1], 9, n * 2 + 100);
      CHECK(malloc_usable_size(p[1]) >= n * 2 + 100, "usable size after realloc");
      p[1] = realloc(p[1], n / 2 + 1);
      CHECK(p[1] && p[1][n / 2] == 9, "way %d: resized down from %zu", way, n);
      free(p[1]);
      p[2] = reallocarray(p[2], n, 3);
      CHECK(p[2] && p[2][n - 1] == 2 + way, "reallocarray");
      free(p[2]);
      errno = 55;
      CHECK(!realloc(p[3], 0) && errno == 55, "realloc to nothing, errno %d", errno);
      errno = 0;
      void *volatile no = realloc(p[4], (size_t)PTRDIFF_MAX + 1);
      CHECK(!no && errno == ENOMEM && p[4][n - 1] == 4 + way, "a refused realloc: %p, errno %d", no, errno);
      errno = 66;
      free(p[4]);
      CHECK(errno == 66, "free set errno to %d", errno);
      if (way < 6)
        f(p[5]);
      else
        free(p[5]);
    }
}
static void *left[200];
static void *in_thread(void *arg) {
  each();
  for (int i = 0; i < 200; i++) left[i] = get(i % WAYS, (size_t)(1 + i * i * 7));
  return arg;
}
int main(void) {
  void *h = dlopen("libc.so.6", RTLD_NOW);
  CHECK(h, "dlopen: %s", dlerror());
  const char *version = dlvsym(h, "free", "GLIBC_2.2.5") ? "GLIBC_2.2.5" : "GLIBC_2.17";
#define GET(v, name) CHECK((*(void **)&(v) = dlvsym(h, name, version)), "%s", name)
  GET(m, "malloc");
  GET(c, "calloc");
  GET(r, "realloc");
  GET(ma, "memalign");
  GET(pm, "posix_memalign");
  GET(lm, "__libc_malloc");
  GET(f, "free");
  each();
  for (int k = 0; k < 5; k++) {
    finish(start(0, in_thread, 0));
    for (int i = 0; i < 200; i++) free(left[i]);
  }
  long rss = status_kb("VmRSS");
  for (int k = 0; k < 30; k++) each();
  CHECK(status_kb("VmRSS") - rss < 4096, "VmRSS grew %ld kB", status_kb("VmRSS") - rss);
  return 0;
}
