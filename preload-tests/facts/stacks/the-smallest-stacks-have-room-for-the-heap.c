// Threads of 16 KiB, the PTHREAD_STACK_MIN of old programs, can use the heap, format text and
// still have 8 kB for themselves; with much static TLS a larger stack has the room it was
// asked for. A library that brings TLS of its own or deep frames eats these stacks.
// variant:
// variant: -DBIGTLS=300000
#include "check.h"
#include <dlfcn.h>
#ifdef BIGTLS
static __thread char tls[BIGTLS] = { 1 };
#endif
enum { SMALL = 16384 };
static size_t room;

static void *work(void *arg) {
  char b[256];
  void *p[20], *q = 0;
  for (int i = 0; i < 20; i++) {
    p[i] = malloc(40 << (i % 12));
    CHECK(p[i], "malloc");
  }
  snprintf(b, sizeof b, "%d %s", 42, "ok");
  CHECK(!strcmp(b, "42 ok"), "snprintf");
  for (int i = 0; i < 20; i++) free(p[i]);
  CHECK(!posix_memalign(&q, 256, 5000), "posix_memalign");
  q = realloc(q, 70000);
  CHECK(q, "realloc");
  free(q);
  free(calloc(3, 300000));
  if (room) {
    volatile char *s = __builtin_alloca(room);
    for (size_t i = 0; i < room; i += 64) s[room - 1 - i] = 1;
  }
#ifdef BIGTLS
  CHECK(tls[0] == 1 && tls[BIGTLS - 1] == 0, "TLS image");
  memset(tls, 9, sizeof tls);
#endif
  return arg;
}
static int go(size_t size) {
  pthread_attr_t a = attr_of(size, 4096);
  pthread_t t;
  int e = pthread_create(&t, &a, work, &room);
  if (!e) CHECK(finish(t) == &room, "result");
  pthread_attr_destroy(&a);
  return e;
}

int main(void) {
  int e;
#ifdef BIGTLS
  size_t (*minstack)(const pthread_attr_t *) = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
  CHECK(minstack, "__pthread_get_minstack is gone, which the JVM and Rust look for");
  pthread_attr_t a;
  pthread_attr_init(&a);
  size_t least = minstack(&a);
  CHECK(least > BIGTLS, "__pthread_get_minstack says %zu, less than the TLS", least);
  e = go(SMALL);
  CHECK(e == EINVAL, "a stack smaller than the TLS gave %d, not EINVAL", e);
  room = 40 << 10;
  for (int i = 0; i < 20; i++) {
    e = go((least + (64 << 10) + 4095) & ~4095UL);
    CHECK(!e, "TLS and 64 KiB: %s", strerror(e));
  }
#else
  for (int i = 0; i < 200; i++) {
    e = go(SMALL);
    CHECK(!e, "16 KiB: %s", strerror(e));
  }
  room = 8 << 10;
  for (int i = 0; i < 50; i++) {
    e = go(SMALL);
    CHECK(!e, "8 kB of frames in 16 KiB: %s", strerror(e));
  }
  if (has_cap(CAP_IPC_LOCK_)) {
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
    for (int i = 0; i < 200; i++) {
      e = go(SMALL);
      CHECK(!e, "16 KiB, locked: %s", strerror(e));
    }
  }
#endif
  return 0;
}
