// In a locked process a thread takes no page fault on its stack, though more stacks were idle
// between two rounds than may be kept in memory.
#include "check.h"
enum { N = 12 };
static pthread_barrier_t in;
static volatile long first_faults[N];
static void *use(void *arg) {
  enum { BYTES = 8064 << 10 };
  pthread_barrier_wait(&in);
  volatile char *p = __builtin_alloca(BYTES);
  long before = faults(RUSAGE_THREAD);
  for (size_t i = 0; i < BYTES; i += 4096) p[BYTES - 1 - i] = 1;
  first_faults[(long)arg] = faults(RUSAGE_THREAD) - before;
  return arg;
}
int main(void) {
  lock_all(MCL_CURRENT | MCL_FUTURE);
  pthread_barrier_init(&in, 0, N);
  pthread_attr_t a = attr_of(8 << 20, 4096);
  for (int round = 0; round < 3; round++) {
    pthread_t t[N];
    for (long i = 0; i < N; i++) t[i] = start(&a, use, (void *)i);
    for (int i = 0; i < N; i++) {
      finish(t[i]);
      CHECK(first_faults[i] == 0, "round %d: thread %d took %ld page faults on its locked stack", round, i,
            first_faults[i]);
    }
  }
  return 0;
}
