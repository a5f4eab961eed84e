// A child forked by a thread goes on in that thread, on its stack, with its thread-local data: it
// can start and join threads, fork, use the heap; when its routine returns or calls pthread_exit
// the child exits with 0 and runs its exit handlers, and cancelling itself ends it likewise.
#include "check.h"
static __thread int mine = 3;
static int out[2];
static void bye(void) { CHECK(write(out[1], "e", 1) == 1, "write"); }
static pthread_key_t key;
static void on_key(void *v) {
  CHECK(v == &key, "value");
  CHECK(write(out[1], "k", 1) == 1, "write");
}
static void *quick(void *arg) {
  free(malloc(100));
  return arg;
}
static int how;
static void *forker(void *arg) {
  mine = 7;
  pthread_setspecific(key, &key);
  struct stack before = stack_of(pthread_self());
  char *block = malloc(3000);
  memset(block, 9, 3000);
  CHECK(!pipe(out), "pipe");
  pid_t p = fork();
  CHECK(p >= 0, "fork");
  if (!p) {
    alarm(20);
    atexit(bye);
    CHECK(mine == 7 && pthread_getspecific(key) == &key, "thread-local data in the child");
    struct stack s = stack_of(pthread_self());
    CHECK(s.lo == before.lo && s.size == before.size && s.guard == before.guard, "the stack in the child");
    CHECK(count_tasks() == 1, "tasks in the child");
    for (int i = 0; i < 3000; i++) CHECK(block[i] == 9, "block in the child");
    free(block);
    for (int i = 0; i < 10; i++) CHECK(finish(start(0, quick, &s)) == &s, "thread in the child");
    pid_t q = fork();
    if (!q) _exit(finish(start(0, quick, &s)) != &s);
    child_ok(q, "grandchild");
    if (how == 1) pthread_exit((void *)5);
    if (how == 2) {
      pthread_cancel(pthread_self());
      pthread_testcancel();
    }
    if (how == 3) exit(0);
    return (void *)6;
  }
  close(out[1]);
  child_ok(p, "child of a thread");
  char got[4] = "";
  int n = 0;
  while (n < 3 && read(out[0], got + n, 1) == 1) n++;
  close(out[0]);
  CHECK(!strcmp(got, how == 3 ? "e" : "ke"), "way %d: events in the child '%s'", how, got);
  out[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
  free(block);
  return arg;
}
int main(void) {
  pthread_key_create(&key, on_key);
  for (int i = 0; i < 40; i++) {
    how = i % 4;
    pthread_attr_t a = attr_of(i % 3 ? 256 << 10 : 8 << 20, 4096);
    CHECK(finish(start(&a, forker, &a)) == &a, "result in the parent");
    close(out[1]);
  }
  return 0;
}
