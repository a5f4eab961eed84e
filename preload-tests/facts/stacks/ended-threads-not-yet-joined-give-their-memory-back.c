// Threads that ended and nobody joined yet keep next to nothing of what they touched of their
// stacks, in a locked process no more than 40 MiB: those that return when they end, those that
// leave by pthread_exit or are cancelled once others are created and joined. They can be joined,
// tell their value, and are reported like live ones.
// variant: -DBY=0
// variant: -DBY=1
// variant: -DBY=2
// variant (bare fails): -DBY=0 -DLOCKED
// variant (bare fails): -DBY=1 -DLOCKED
// fails-with: stay resident
#include "check.h"
enum { N = 40, RETURN = 0, EXIT = 1, CANCEL = 2 };
static pthread_barrier_t in;
static void *deep(void *arg) {
  enum { BYTES = 6 << 20 };
  volatile char *p = __builtin_alloca(BYTES);
  for (size_t i = 0; i < BYTES; i += 4096) p[BYTES - 1 - i] = 1;
  if (BY == CANCEL) {
    pthread_barrier_wait(&in);
    for (;;) pause();
  }
  if (BY == EXIT) pthread_exit((char *)arg + 1);
  return (char *)arg + 1;
}
static void *quick(void *arg) { return arg; }
int main(void) {
  long most = 3 << 10;
#ifdef LOCKED
  lock_all(MCL_CURRENT | MCL_FUTURE);
  most = 46 << 10;
#endif
  pthread_barrier_init(&in, 0, 2);
  pthread_attr_t a = attr_of(8 << 20, 4096), small = attr_of(64 << 10, 4096);
  finish(start(&small, quick, 0));
  long before = status_kb("VmRSS");
  for (int round = 0; round < 3; round++) {
    pthread_t t[N];
    struct stack s[N];
    for (int i = 0; i < N; i++) {
      t[i] = start(&a, deep, (void *)(long)(100 * round + i));
      s[i] = stack_of(t[i]);
      if (BY != CANCEL) continue;
      pthread_barrier_wait(&in);
      CHECK(!pthread_cancel(t[i]), "cancel");
    }
    CHECK(SETTLES(5000, count_tasks() == 1), "threads do not end");
    if (BY != RETURN)
      for (int i = 0; i < 2 * N; i++) finish(start(&small, quick, 0));
    CHECK(status_kb("VmRSS") - before < most, "round %d: %ld kB stay resident for %d ended threads", round,
          status_kb("VmRSS") - before, N);
    for (int i = 0; i < N; i++) {
      struct stack now = stack_of(t[i]);
      void *value = BY == CANCEL ? PTHREAD_CANCELED : (void *)(long)(100 * round + i + 1);
      CHECK(now.lo == s[i].lo && now.size == s[i].size && now.guard == s[i].guard, "thread %d: reported otherwise", i);
      CHECK(finish(t[i]) == value, "thread %d: another value", i);
    }
    CHECK(status_kb("VmRSS") - before < most, "round %d: %ld kB stay resident after the joins", round,
          status_kb("VmRSS") - before);
  }
  return 0;
}
