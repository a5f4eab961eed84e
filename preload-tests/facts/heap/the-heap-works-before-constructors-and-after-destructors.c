// The heap is used before any constructor of a preloaded library can have run and after its
// destructors have: by preinit code, constructors and destructors of libraries and the program,
// exit handlers, destructors of keys and of thread-local objects, a thread still busy at exit.
// linked: early-block.c
// repeat: 5
// constructor: skip preinit code cannot be in a library, and destructors do not run before main
#include "check.h"
#include <dlfcn.h>
extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;
extern char *library_block(void);
static char *pre, *ctor;
static int order[16], events, rounds;
static pthread_key_t k1, k2;

static void preinit(int argc, char **argv, char **env) {
  (void)argc, (void)argv, (void)env;
  pre = malloc(100);
  strcpy(pre, "pre");
  char *x = calloc(1, 5000);
  for (int i = 0; i < 5000; i++) CHECK(!x[i], "dirty memory of calloc");
  free(x);
  void *q;
  CHECK(!posix_memalign(&q, 64, 64), "posix_memalign");
  free(q);
}
__attribute__((section(".preinit_array"), used)) static void (*pi)(int, char **, char **) = preinit;
__attribute__((constructor(101))) static void first(void) {
  ctor = strdup("ctor");
  free(realloc(malloc(10), 90000));
}
static void on_thread_exit(void *p) {
  order[events++] = 1;
  free(p);
  free(malloc(1000));
}
static void on_k1(void *p) {
  order[events++] = 2;
  free(p);
  if (++rounds < 3) pthread_setspecific(k1, malloc(64));
  void *q = aligned_alloc(4096, 8192);
  CHECK(q, "aligned_alloc in a destructor");
  free(q);
}
static void on_k2(void *p) {
  order[events++] = 3;
  free(p);
  void *v[300];
  for (int i = 0; i < 300; i++) v[i] = malloc((size_t)i * 13 + 1);
  for (int i = 0; i < 300; i++) free(v[i]);
}
static void *body(void *arg) {
  pthread_setspecific(k1, malloc(128));
  pthread_setspecific(k2, malloc(256));
  __cxa_thread_atexit_impl(on_thread_exit, malloc(512), &__dso_handle);
  return arg;
}
static void *busy(void *arg) {
  for (;;) {
    void *p = malloc(500);
    free(p);
    pthread_testcancel();
  }
  return arg;
}
static void bye(void) {
  char *p = malloc(2000);
  memset(p, 1, 2000);
  free(p);
  free(strdup("bye"));
}
__attribute__((destructor(101))) static void last(void) {
  CHECK(!strcmp(pre, "pre") && !strcmp(ctor, "ctor"), "early blocks changed");
  free(pre);
  free(ctor);
  for (size_t i = 0; i < 2000; i++) free(malloc(i * 50));
  free(library_block());
  char *p = malloc(3 << 20);
  CHECK(p, "a large block in a destructor");
  p[0] = 1;
  free(p);
  free(calloc(7, 7));
}
int main(void) {
  CHECK(!strcmp(library_block(), "lib"), "the library's block");
  pthread_key_create(&k1, on_k1);
  pthread_key_create(&k2, on_k2);
  for (int i = 0; i < 50; i++) {
    events = rounds = 0;
    finish(start(0, body, 0));
    CHECK(rounds == 3, "a key's destructor ran %d times, not 3", rounds);
    CHECK(events == 5 && order[0] == 1, "thread-local destructors come before those of keys (%d %d %d, %d events)",
          order[0], order[1], order[2], events);
  }
  atexit(bye);
  pthread_detach(start(0, busy, 0));
  nap_ms(20);
  return 0;
}
