// A program built before glibc 2.34 names the versions of that time; its threads are created,
// joined, detached and asked as those of a new one are.
#include "check.h"
#include <threads.h>
__asm__(".symver old_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver old_join,pthread_join@GLIBC_2.2.5");
__asm__(".symver old_detach,pthread_detach@GLIBC_2.2.5");
__asm__(".symver old_tryjoin,pthread_tryjoin_np@GLIBC_2.3.3");
__asm__(".symver old_timedjoin,pthread_timedjoin_np@GLIBC_2.3.3");
__asm__(".symver old_getattr,pthread_getattr_np@GLIBC_2.2.5");
__asm__(".symver old_thrd_create,thrd_create@GLIBC_2.28");
__asm__(".symver old_thrd_join,thrd_join@GLIBC_2.28");
extern int old_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
extern int old_join(pthread_t, void **), old_detach(pthread_t), old_tryjoin(pthread_t, void **);
extern int old_timedjoin(pthread_t, void **, const struct timespec *), old_getattr(pthread_t, pthread_attr_t *);
extern int old_thrd_create(thrd_t *, thrd_start_t, void *), old_thrd_join(thrd_t, int *);
static volatile int ran;
static void *body(void *arg) {
  pthread_attr_t a;
  void *lo;
  size_t n;
  CHECK(!old_getattr(pthread_self(), &a) && !pthread_attr_getstack(&a, &lo, &n), "getattr");
  CHECK((char *)&a > (char *)lo && (char *)&a < (char *)lo + n, "frame outside of the stack");
  pthread_attr_destroy(&a);
  __atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
  return arg;
}
static int c11(void *arg) { return *(int *)arg; }
int main(void) {
  for (int i = 0; i < 500; i++) {
    pthread_t t;
    thrd_t h;
    void *r = 0;
    int n = -i, e;
    struct timespec late;
    CHECK(!old_create(&t, 0, body, &r), "create");
    switch (i % 4) {
      case 0: CHECK(!old_join(t, &r) && r == &r, "join"); break;
      case 1: CHECK(!old_detach(t), "detach"); break;
      case 2:
        while ((e = old_tryjoin(t, &r)) == EBUSY) sched_yield();
        CHECK(!e && r == &r, "tryjoin");
        break;
      case 3:
        clock_gettime(CLOCK_REALTIME, &late);
        late.tv_sec += 10;
        CHECK(!old_timedjoin(t, &r, &late) && r == &r, "timedjoin");
    }
    CHECK(old_thrd_create(&h, c11, &n) == thrd_success && old_thrd_join(h, &e) == thrd_success && e == -i, "C11");
  }
  CHECK(SETTLES(3000, ran == 500 && count_tasks() == 1), "%d ran", ran);
  return 0;
}
