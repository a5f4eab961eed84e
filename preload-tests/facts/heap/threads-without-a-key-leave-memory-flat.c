// Threads on stacks of the program's own, in a program that has taken every key there is, end
// without leaving memory behind; blocks that others free of theirs come back too.
// env: MALLOC_ARENA_MAX=1
#include "check.h"
enum { STACK = 64 << 10, WARM = 500, THREADS = 5000 };
static void *use(void *kept) {
  void *p[20];
  for (int i = 0; i < 20; i++) {
    p[i] = malloc((size_t)i * 200 + 1);
    CHECK(p[i], "malloc");
    memset(p[i], i, (size_t)i * 200 + 1);
  }
  for (int i = 0; i < 20; i++) free(p[i]);
  p[0] = malloc(50000);
  CHECK(p[0], "malloc");
  memset(p[0], 1, 50000);
  free(p[0]);
  *(void **)kept = malloc(100);
  return kept;
}
static void threads(int n) {
  static _Alignas(4096) char stack[2][STACK];
  pthread_attr_t a;
  CHECK(!pthread_attr_init(&a), "attr");
  for (int i = 0; i < n; i += 2) {
    void *kept[2];
    pthread_t t[2];
    for (int k = 0; k < 2; k++) {
      CHECK(!pthread_attr_setstack(&a, stack[k], STACK), "setstack");
      t[k] = start(&a, use, &kept[k]);
    }
    for (int k = 0; k < 2; k++) CHECK(finish(t[k]) == &kept[k], "join");
    for (int k = 0; k < 2; k++) free(kept[k]);
  }
}
int main(void) {
  pthread_key_t key;
  int keys = 0;
  free(malloc(1));
  while (!pthread_key_create(&key, 0)) keys++;
  CHECK(keys > 500, "%d keys", keys);
  threads(WARM);
  long rss = status_kb("VmRSS"), size = status_kb("VmSize");
  threads(THREADS);
  rss = status_kb("VmRSS") - rss;
  size = status_kb("VmSize") - size;
  CHECK(rss < 600 && size < 1200, "%d threads left %ld kB in memory, %ld kB of addresses", THREADS, rss, size);
  return 0;
}
