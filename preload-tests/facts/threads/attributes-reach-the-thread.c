// What pthread_attr_t says arrives: affinity, scheduling policy and priority or their inheritance,
// signal mask, detach state; and pthread_getattr_np of the thread says it back. The attributes
// object itself is not changed and can be used again and destroyed.
#include "check.h"
static void *look(void *arg) {
  pthread_attr_t a;
  CHECK(!pthread_getattr_np(pthread_self(), &a), "getattr");
  int policy, detach;
  struct sched_param p, q;
  cpu_set_t c, d;
  sigset_t m;
  pthread_getschedparam(pthread_self(), &policy, &p);
  sched_getaffinity(0, sizeof c, &c);
  pthread_sigmask(SIG_BLOCK, 0, &m);
  CHECK(!pthread_attr_getaffinity_np(&a, sizeof d, &d) && CPU_EQUAL(&c, &d), "getattr's affinity");
  CHECK(!pthread_attr_getschedparam(&a, &q), "getattr's priority");
  CHECK(!pthread_attr_getdetachstate(&a, &detach), "getattr's detach state");
  pthread_attr_destroy(&a);
  char *out = arg;
  sprintf(out, "cpus %d policy %d priority %d %d detached %d usr1 %d usr2 %d", CPU_COUNT(&c), policy, p.sched_priority,
          q.sched_priority, detach, sigismember(&m, SIGUSR1), sigismember(&m, SIGUSR2));
  __atomic_store_n(out + 127, 1, __ATOMIC_RELEASE);
  return arg;
}
static char out[128];
static const char *with(pthread_attr_t *a, int detached) {
  memset(out, 0, sizeof out);
  pthread_t t = start(a, look, out);
  if (detached)
    CHECK(SETTLES(5000, __atomic_load_n(out + 127, __ATOMIC_ACQUIRE)), "the detached thread does not run");
  else
    CHECK(finish(t) == out, "result");
  return out;
}
#define SAYS(a, detached, want)                                              \
  do {                                                                       \
    for (int i_ = 0; i_ < 4; i_++) {                                         \
      const char *got_ = with(a, detached);                                  \
      CHECK(!strcmp(got_, want), "got '%s', want '%s'", got_, want);         \
    }                                                                        \
  } while (0)
int main(void) {
  pthread_attr_t a;
  cpu_set_t all, one;
  sigset_t m;
  char want[128];
  struct sched_param p = { .sched_priority = 7 };
  sched_getaffinity(0, sizeof all, &all);
  int cpus = CPU_COUNT(&all), first = 0;
  while (!CPU_ISSET(first, &all)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);

  snprintf(want, sizeof want, "cpus %d policy 0 priority 0 0 detached 0 usr1 0 usr2 0", cpus);
  SAYS(0, 0, want);
  pthread_attr_init(&a);
  SAYS(&a, 0, want);

  CHECK(!pthread_attr_setaffinity_np(&a, sizeof one, &one), "setaffinity");
  SAYS(&a, 0, "cpus 1 policy 0 priority 0 0 detached 0 usr1 0 usr2 0");

  sigemptyset(&m);
  sigaddset(&m, SIGUSR1);
  CHECK(!pthread_attr_setsigmask_np(&a, &m), "setsigmask");
  SAYS(&a, 0, "cpus 1 policy 0 priority 0 0 detached 0 usr1 1 usr2 0");
  sigemptyset(&m);
  sigaddset(&m, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &m, 0);
  SAYS(&a, 0, "cpus 1 policy 0 priority 0 0 detached 0 usr1 1 usr2 0");
  CHECK(!pthread_attr_setsigmask_np(&a, 0), "no mask");
  SAYS(&a, 0, "cpus 1 policy 0 priority 0 0 detached 0 usr1 0 usr2 1");
  pthread_sigmask(SIG_UNBLOCK, &m, 0);

  CHECK(!pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED), "detach state");
  SAYS(&a, 1, "cpus 1 policy 0 priority 0 0 detached 1 usr1 0 usr2 0");
  CHECK(!pthread_attr_setdetachstate(&a, PTHREAD_CREATE_JOINABLE), "detach state");

  if (has_cap(CAP_SYS_NICE_)) {
    CHECK(!pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED) && !pthread_attr_setschedpolicy(&a, SCHED_FIFO) &&
              !pthread_attr_setschedparam(&a, &p), "scheduling");
    SAYS(&a, 0, "cpus 1 policy 1 priority 7 7 detached 0 usr1 0 usr2 0");
    CHECK(!pthread_attr_setschedpolicy(&a, SCHED_RR), "scheduling");
    SAYS(&a, 0, "cpus 1 policy 2 priority 7 7 detached 0 usr1 0 usr2 0");
    CHECK(!pthread_attr_setinheritsched(&a, PTHREAD_INHERIT_SCHED), "inherit");
    SAYS(&a, 0, "cpus 1 policy 0 priority 0 0 detached 0 usr1 0 usr2 0");
    p.sched_priority = 4;
    CHECK(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &p), "FIFO for the creator");
    SAYS(&a, 0, "cpus 1 policy 1 priority 4 4 detached 0 usr1 0 usr2 0");
    snprintf(want, sizeof want, "cpus %d policy 1 priority 4 4 detached 0 usr1 0 usr2 0", cpus);
    SAYS(0, 0, want);
  }
  cpu_set_t still;
  CHECK(!pthread_attr_getaffinity_np(&a, sizeof still, &still) && CPU_EQUAL(&still, &one), "the attributes changed");
  size_t size = 1;
  void *addr = &a;
  CHECK(!pthread_attr_getstack(&a, &addr, &size) || addr == 0, "the attributes got a stack: %p+%zu", addr, size);
  CHECK(!pthread_attr_destroy(&a), "destroy");
  return 0;
}
