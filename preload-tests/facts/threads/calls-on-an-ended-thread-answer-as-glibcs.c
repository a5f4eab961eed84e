// A thread that ended and was not joined yet can still be asked: each call answers as bare.
// output: same
#include "check.h"
static void *quick(void *arg) { return arg; }
int main(void) {
  pthread_t t = start(0, quick, (void *)5);
  CHECK(SETTLES(3000, count_tasks() == 1), "the thread does not end");
  nap_ms(10);
  int policy = -1;
  struct sched_param p = { 0 };
  char name[32] = "";
  clockid_t clock;
  cpu_set_t c;
  CPU_ZERO(&c);
  CPU_SET(0, &c);
  union sigval v = { 0 };
  pthread_attr_t a;
  printf("kill %d %d %d\n", pthread_kill(t, 0), pthread_kill(t, SIGUSR1), pthread_kill(t, 4711));
  printf("sigqueue %d\n", pthread_sigqueue(t, SIGUSR1, v));
  printf("getattr %d\n", pthread_getattr_np(t, &a));
  printf("getname %d setname %d\n", pthread_getname_np(t, name, sizeof name), pthread_setname_np(t, "x"));
  printf("getsched %d setsched %d setprio %d\n", pthread_getschedparam(t, &policy, &p),
         pthread_setschedparam(t, SCHED_OTHER, &p), pthread_setschedprio(t, 0));
  printf("getaffinity %d setaffinity %d\n", pthread_getaffinity_np(t, sizeof c, &c), pthread_setaffinity_np(t, sizeof c, &c));
  printf("cpuclock %d\n", pthread_getcpuclockid(t, &clock));
  printf("cancel %d\n", pthread_cancel(t));
  CHECK(finish(t) == (void *)5, "result");
  return 0;
}
