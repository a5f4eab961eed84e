// env: MALLOC_ARENA_MAX=1
// Memory that a thread used once and freed is not kept for it while it sleeps.
#include "check.h"
enum { N = 60, KB = 1024, PIECE = 200000 };
static pthread_barrier_t out;
static void *sleeper(void *arg) {
  char *p[KB * 1024 / PIECE];
  for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
    CHECK(p[i] = malloc(PIECE), "malloc");
    memset(p[i], 1, PIECE);
  }
  for (size_t i = 0; i < sizeof p / sizeof *p; i++) free(p[i]);
  pthread_barrier_wait(&out);
  return arg;
}
int main(void) {
  pthread_barrier_init(&out, 0, N + 1);
  pthread_attr_t attr = attr_of(64 << 10, 4096);
  pthread_t t[N];
  long before = status_kb("VmRSS");
  for (int i = 0; i < N; i++) {
    CHECK(!pthread_create(&t[i], &attr, sleeper, NULL), "pthread_create");
    nap_ms(2);
  }
  nap_ms(50);
  long kept = status_kb("VmRSS") - before;
  CHECK(kept < N * KB / 3, "%d sleeping threads keep %ld kB", N, kept);
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) CHECK(!pthread_join(t[i], NULL), "join");
  return 0;
}
