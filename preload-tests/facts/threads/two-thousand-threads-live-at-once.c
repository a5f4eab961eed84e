// Two thousand threads at once, each on a stack of its own, joined in an order unlike that of their
// creation; afterwards, when the heap was trimmed, address space and memory are near what they were.
// env: MALLOC_ARENA_MAX=1
#include "check.h"
#include <malloc.h>
enum { N = 2000 };
static pthread_barrier_t in, out;
static uintptr_t lo[N], hi[N];
static void *stay(void *arg) {
  struct stack s = stack_of(pthread_self());
  lo[(long)arg] = s.lo - s.guard;
  hi[(long)arg] = s.hi;
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  return arg;
}
static int by_low(const void *a, const void *b) {
  uintptr_t x = lo[*(const int *)a], y = lo[*(const int *)b];
  return x < y ? -1 : x > y;
}
int main(void) {
  static pthread_t t[N];
  static int order[N];
  long size = status_kb("VmSize"), rss = status_kb("VmRSS");
  for (int round = 0; round < 2; round++) {
    pthread_barrier_init(&in, 0, N + 1);
    pthread_barrier_init(&out, 0, N + 1);
    pthread_attr_t a = attr_of(round ? 64 << 10 : 1 << 20, 4096);
    for (long i = 0; i < N; i++) t[i] = start(&a, stay, (void *)i);
    pthread_barrier_wait(&in);
    for (int i = 0; i < N; i++) order[i] = i;
    qsort(order, N, sizeof *order, by_low);
    for (int i = 1; i < N; i++)
      CHECK(hi[order[i - 1]] <= lo[order[i]], "stacks of threads %d and %d overlap", order[i - 1], order[i]);
    pthread_barrier_wait(&out);
    for (long i = 0; i < N; i++) {
      long k = i * 777 % N;
      CHECK(finish(t[k]) == (void *)k, "result");
    }
  }
  CHECK(SETTLES(3000, count_tasks() == 1), "tasks are left");
  malloc_trim(0);
  size = status_kb("VmSize") - size;
  rss = status_kb("VmRSS") - rss;
  // glibc keeps up to 40 MiB of stacks and 16 arenas of 128 MiB of address space.
  CHECK(size < 2300 << 10, "%ld kB of address space are left", size);
  CHECK(rss < 20 << 10, "%ld kB are left resident", rss);
  INFO("VmSize +%ld kB, VmRSS +%ld kB afterwards", size, rss);
  return 0;
}
