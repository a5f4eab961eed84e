// user: ordinary
// bare: expect-fail glibc keeps what is free between live blocks locked
// fails-with: thread
// Out of lock limit a new stack gets what the heap holds and nobody uses.
#include "check.h"
enum { N = 40, BYTES = 100000 };
static pthread_barrier_t out;
static void *hold(void *arg) {
  pthread_barrier_wait(&out);
  return arg;
}
int main(void) {
  set_limit(RLIMIT_MEMLOCK, 8 << 20);
  CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  char *block[N], *live[N];
  for (int i = 0; i < N; i++) CHECK((block[i] = malloc(BYTES)) && (live[i] = malloc(100)), "%d", i);
  for (int i = 0; i < N; i++) memset(block[i], 1, BYTES), memset(live[i], i, 100);
  long taken = status_kb("VmLck");
  for (int i = 0; i < N; i++) free(block[i]);
  // As many threads as fit beside what was taken, and two more megabytes of them.
  int n = (int)((8192 - taken) / 256) + 8;
  pthread_barrier_init(&out, 0, (unsigned)n + 1);
  pthread_attr_t attr = attr_of(252 << 10, 4096);
  pthread_t t[64];
  CHECK(n > 8 && n <= 64, "%d threads beside %ld kB", n, taken);
  for (int i = 0; i < n; i++) {
    int e = pthread_create(&t[i], &attr, hold, NULL);
    CHECK(!e, "thread %d of %d: %s", i, n, strerror(e));
  }
  pthread_barrier_wait(&out);
  for (int i = 0; i < n; i++) CHECK(!pthread_join(t[i], NULL), "join");
  for (int i = 0; i < N; i++) CHECK(live[i][0] == i && live[i][99] == i, "a live block changed");
  return 0;
}
