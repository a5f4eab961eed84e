// pthread_cancel ends threads that wait in any of the usual calls, that poll, that compute with
// asynchronous cancellation; cleanup handlers run from the last pushed to the first, then keys'
// destructors; a thread that disabled cancellation is not ended until it allows it.
#include "check.h"
#include <poll.h>
#include <semaphore.h>
static pthread_key_t key;
static char log_[16];
static int logged;
static volatile int ready;
static sem_t never;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int pipes[2];
static void note(void *c) {
  if (logged < 15) log_[logged++] = (char)(long)c;
}
static void unlock(void *m) {
  pthread_mutex_unlock(m);
  note((void *)'m');
}
static void *victim(void *v) {
  long how = (long)v;
  char c;
  pthread_setspecific(key, (void *)'k');
  pthread_cleanup_push(note, (void *)'1');
  pthread_cleanup_push(note, (void *)'2');
  free(malloc(100));
  switch (how) {
    case 0: ready = 1; sem_wait(&never); break;
    case 1: ready = 1; pause(); break;
    case 2: ready = 1; if (read(pipes[0], &c, 1)) break; break;
    case 3: ready = 1; sleep(100); break;
    case 4: ready = 1; poll(0, 0, 100000); break;
    case 5:
      pthread_mutex_lock(&mu);
      pthread_cleanup_push(unlock, &mu);
      ready = 1;
      for (;;) pthread_cond_wait(&cond, &mu);
      pthread_cleanup_pop(0);
      break;
    case 6: ready = 1; for (;;) pthread_testcancel(); break;
    case 7:
      pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
      ready = 1;
      for (;;) __asm__ volatile("");
      break;
    case 8:
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
      ready = 1;
      for (int i = 0; i < 50; i++) {
        nap_ms(1);
        pthread_testcancel();
      }
      note((void *)'d');
      pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
      pthread_testcancel();
      break;
    case 9: ready = 1; waitpid(-1, 0, 0); pause(); break;
  }
  CHECK(0, "way %ld: a cancelled thread went on", how);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return 0;
}
int main(void) {
  pthread_key_create(&key, note);
  sem_init(&never, 0, 0);
  CHECK(!pipe(pipes), "pipe");
  for (int rep = 0; rep < 6; rep++)
    for (long how = 0; how < 10; how++) {
      ready = logged = 0;
      memset(log_, 0, sizeof log_);
      pthread_attr_t a = attr_of(rep % 2 ? 16384 : 256 << 10, 4096);
      pthread_t t = start(&a, victim, (void *)how);
      while (!ready) sched_yield();
      if (rep % 3) nap_ms(2);
      CHECK(!pthread_cancel(t), "cancel");
      void *r = finish(t);
      CHECK(r == PTHREAD_CANCELED, "way %ld: result %p", how, r);
      const char *want = how == 5 ? "m21k" : how == 8 ? "d21k" : "21k";
      CHECK(!strcmp(log_, want), "way %ld: handlers ran as '%s', not '%s'", how, log_, want);
    }
  CHECK(!pthread_mutex_trylock(&mu), "the mutex stayed locked");
  // A thread cancelled before it could run ends as cancelled, or not at all started: joinable.
  for (int i = 0; i < 200; i++) {
    pthread_t t = start(0, (void *(*)(void *))victim, (void *)1);
    pthread_cancel(t);
    CHECK(finish(t) == PTHREAD_CANCELED, "cancelled at its start");
  }
  return 0;
}
