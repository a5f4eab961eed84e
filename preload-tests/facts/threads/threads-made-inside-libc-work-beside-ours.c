// Threads that libc starts itself (a timer's notifications, asynchronous I/O) run on libc's own
// stacks, use the heap, and mix with the program's threads; their pthread_t can be asked.
// flags: -lrt
#include "check.h"
#include <aio.h>
static volatile int fired, done;
static void *quick(void *arg) {
  free(malloc(64));
  return arg;
}
static void on_timer(union sigval v) {
  CHECK(v.sival_int == 42, "value");
  char *p = malloc(5000);
  CHECK(p, "malloc in a timer's thread");
  memset(p, 1, 5000);
  struct stack s = stack_of(pthread_self());
  CHECK((uintptr_t)&v > s.lo - (16 << 20) && s.size > 0, "stack of a timer's thread");
  free(p);
  finish(start(0, quick, 0));
  __atomic_fetch_add(&fired, 1, __ATOMIC_SEQ_CST);
}
static void on_aio(union sigval v) {
  (void)v;
  free(malloc(100));
  __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
}
int main(void) {
  timer_t id;
  struct sigevent e = { .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 42 };
  e.sigev_notify_function = on_timer;
  CHECK(!timer_create(CLOCK_MONOTONIC, &e, &id), "timer_create: %s", strerror(errno));
  struct itimerspec t = { { 0, 3000000 }, { 0, 3000000 } };
  CHECK(!timer_settime(id, 0, &t, 0), "timer_settime");
  for (int i = 0; i < 500 || fired < 30; i++) {
    CHECK(i < 100000, "only %d notifications", fired);
    finish(start(0, quick, 0));
  }
  CHECK(!timer_delete(id), "timer_delete");

  static char buf[8][100];
  struct aiocb cb[8];
  int fd = open("/proc/self/exe", O_RDONLY);
  CHECK(fd >= 0, "open");
  memset(cb, 0, sizeof cb);
  for (int i = 0; i < 8; i++) {
    cb[i].aio_fildes = fd;
    cb[i].aio_buf = buf[i];
    cb[i].aio_nbytes = sizeof buf[i];
    cb[i].aio_sigevent.sigev_notify = SIGEV_THREAD;
    cb[i].aio_sigevent.sigev_notify_function = on_aio;
    CHECK(!aio_read(&cb[i]), "aio_read: %s", strerror(errno));
  }
  CHECK(SETTLES(5000, done == 8), "%d of 8 notifications", done);
  for (int i = 0; i < 8; i++) CHECK(aio_return(&cb[i]) == 100 && !memcmp(buf[i], "\177ELF", 4), "what was read");
  return 0;
}
