// Threads can be started and joined by the destructor of a key, by exit handlers and by destructors
// of the program, when much of the process is already gone.
// constructor: skip destructors of libraries do not run when the process ends before main
#include "check.h"
static pthread_key_t key;
static int started;
static void *work(void *arg) {
  char *p = malloc(3000);
  CHECK(p, "malloc");
  memset(p, 1, 3000);
  free(p);
  __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
  return arg;
}
static void some(void) {
  pthread_attr_t a = attr_of(64 << 10, 4096);
  for (int i = 0; i < 5; i++) CHECK(finish(start(i % 2 ? &a : 0, work, &a)) == &a, "result");
  CHECK(!pthread_detach(start(&a, work, 0)), "detach");
  pthread_attr_destroy(&a);
}
static void on_key(void *v) {
  (void)v;
  some();
}
static void *with_key(void *arg) {
  pthread_setspecific(key, &key);
  return arg;
}
static int handlers;
static void bye(void) {
  some();
  handlers++;
}
__attribute__((destructor)) static void last(void) {
  CHECK(handlers == 2, "%d handlers ran", handlers);
  some();
  CHECK(SETTLES(3000, started == 6 * 53), "%d threads ran", started);
  INFO("%d threads ran", started);
}
int main(void) {
  CHECK(!pthread_key_create(&key, on_key), "key");
  for (int i = 0; i < 50; i++) finish(start(0, with_key, 0));
  atexit(bye);
  atexit(bye);
  return 0;
}
