// When address space runs out, every call gives NULL and ENOMEM, blocks already had stay whole, what
// is freed can be had again, in other threads too, and after the limit is lifted all is well.
// variant: -DSIZE=100
// variant: -DSIZE=5000
// variant: -DSIZE=200000
// variant: -DSIZE=3000000
// constructor: skip the loader needs address space of its own there
#include "check.h"
#include <malloc.h>
struct block {
  struct block *next;
  size_t n;
  unsigned char fill[];
};
static struct block *all;
static size_t count;
static void set(struct block *b, size_t n) {
  b->n = n;
  memset(b->fill, (int)(n * 31 % 251), n - sizeof *b);
}
static void check(struct block *b) {
  size_t step = b->n > 10000 ? 509 : 1;
  for (size_t i = 0; i < b->n - sizeof *b; i += step)
    CHECK(b->fill[i] == b->n * 31 % 251, "byte %zu of a block of %zu changed", i, b->n);
}
static struct block *get(size_t i, size_t n) {
  void *p = 0;
  switch (i % 4) {
    case 0: return malloc(n);
    case 1: return calloc(n, 1);
    case 2: return realloc(0, n);
    default:
      if ((errno = posix_memalign(&p, 64, n))) return 0;
      return p;
  }
}
static void exhaust(void) {
  for (size_t i = 0;; i++) {
    size_t n = SIZE + i % 9 * 16;
    errno = 0;
    struct block *b = get(i, n);
    if (!b) {
      CHECK(errno == ENOMEM, "way %zu: errno %d (%s)", i % 4, errno, strerror(errno));
      break;
    }
    set(b, n);
    b->next = all;
    all = b;
    count++;
  }
}
static void drop(size_t keep) {
  while (count > keep) {
    struct block *b = all;
    check(b);
    all = b->next;
    free(b);
    count--;
  }
}
static pthread_barrier_t go;
static void *in_thread(void *arg) {
  pthread_barrier_wait(&go);
  size_t before = count;
  for (size_t i = 0; i < before / 4; i++) {
    struct block *b = malloc(SIZE);
    if (!b) {
      CHECK(errno == ENOMEM, "errno %d", errno);
      break;
    }
    set(b, SIZE);
    b->next = all;
    all = b;
    count++;
  }
  exhaust();
  errno = 0;
  void *volatile p = malloc(500 << 20);
  CHECK(!p && errno == ENOMEM, "500 MiB: errno %d", errno);
  return arg;
}
int main(void) {
  struct rlimit was, now;
  getrlimit(RLIMIT_AS, &was);
  now = was;
  now.rlim_cur = ((size_t)status_kb("VmSize") << 10) + (64 << 20);
  CHECK(!setrlimit(RLIMIT_AS, &now), "setrlimit");
  // The thread starts before memory is short: a stack may not be had later.
  pthread_barrier_init(&go, 0, 2);
  pthread_attr_t a = attr_of(128 << 10, 4096);
  pthread_t t = start(&a, in_thread, 0);
  exhaust();
  size_t first = count;
  CHECK(count * SIZE > 30 << 20, "only %zu bytes were had", count * SIZE);
  void *p = all;
  errno = 0;
  CHECK(!realloc(all, 300 << 20) && errno == ENOMEM, "realloc: errno %d", errno);
  check(all);
  CHECK(posix_memalign(&p, 4096, 300 << 20) == ENOMEM && p == all, "posix_memalign");
  drop(first / 2);
  exhaust();
  CHECK(count > first / 10 * 8, "%zu blocks the second time, %zu the first", count, first);
  drop(first / 3);
  malloc_trim(0);
  pthread_barrier_wait(&go);
  finish(t);
  drop(0);
  CHECK(!all, "blocks left");
  malloc_trim(0);
  CHECK(!setrlimit(RLIMIT_AS, &was), "setrlimit");
  p = malloc(300 << 20);
  CHECK(p, "300 MiB without a limit");
  free(p);
  finish(start(0, (void *(*)(void *))(uintptr_t)malloc, (void *)100));
  return 0;
}
