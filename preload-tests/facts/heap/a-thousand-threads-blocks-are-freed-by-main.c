// A thousand threads end and leave blocks behind, which main frees much later: contents are whole,
// and when all is freed, memory is back, round after round.
#include "check.h"
#include <malloc.h>
enum { N = 1000, EACH = 60, LIVE = 25 };
static unsigned char *p[N][EACH];
static size_t len(int t, int i) {
  unsigned s = (unsigned)(t * 131 + i) * 2654435761u | 1;
  rnd(&s);
  return 16 + rnd(&s) % (i % 20 ? 1500 : 20000);
}
static void *body(void *arg) {
  int t = (int)(long)arg;
  void *own[30];
  for (int i = 0; i < 30; i++) own[i] = malloc(500);
  for (int i = 0; i < EACH; i++) {
    p[t][i] = malloc(len(t, i));
    CHECK(p[t][i], "malloc");
    memset(p[t][i], t + i, len(t, i));
  }
  for (int i = 0; i < 30; i++) free(own[i]);
  return arg;
}
int main(void) {
  pthread_attr_t a = attr_of(64 << 10, 4096);
  long rss0 = 0, full = 0, second = 0;
  for (int round = 0; round < 3; round++) {
    for (int t = 0; t < N; t += LIVE) {
      pthread_t h[LIVE];
      for (int k = 0; k < LIVE; k++) h[k] = start(&a, body, (void *)(long)(t + k));
      for (int k = 0; k < LIVE; k++) finish(h[k]);
    }
    full = status_kb("VmRSS");
    for (int t = 0; t < N; t++)
      for (int i = 0; i < EACH; i++) {
        int v = (t * 7 + 3) % N;
        unsigned char *b = p[v][i];
        size_t n = len(v, i);
        CHECK(b[0] == (unsigned char)(v + i) && b[n - 1] == (unsigned char)(v + i), "a block of thread %d changed", v);
        free(b);
        p[v][i] = 0;
      }
    long freed = status_kb("VmRSS");
    malloc_trim(0);
    long trimmed = status_kb("VmRSS");
    if (round == 0) rss0 = full;
    CHECK(full < (getenv("LD_PRELOAD") ? rss0 + rss0 / 4 + 4096 : 2 * rss0), "round %d: VmRSS %ld kB when full, %ld kB the first time", round, full, rss0);
    // glibc cannot return what lies below a block that is still cached somewhere, and which
    // thread gets which of its arenas is chance.
    long most = getenv("LD_PRELOAD") ? full / 5 : full / 10 * 9;
    CHECK(trimmed < most, "round %d: of %ld kB stay %ld kB, after malloc_trim %ld kB", round, full, freed, trimmed);
    second = trimmed;
  }
  INFO("full %ld kB, after malloc_trim %ld kB", full, second);
  return 0;
}
