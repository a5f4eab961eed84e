// A program that defines malloc and its kin uses its own: every block it is asked to free or
// measure is one it made, and threads, their destructors and dlopen work with it.
// flags: -fno-builtin
// constructor: skip a library's malloc stands behind a preloaded one, a program's before it
#include "check.h"
#include <dlfcn.h>
static char pool[64 << 20] __attribute__((aligned(16)));
static size_t top;
static long made, freed;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
struct head {
  size_t n, magic;
};
#define MAGIC 0x6d696e65706f6f6cUL
static void *get(size_t al, size_t n) {
  void *p = 0;
  pthread_mutex_lock(&mu);
  size_t at = (top + sizeof(struct head) + al - 1) & ~(al - 1);
  if (n < sizeof pool && at + n < sizeof pool) {
    p = pool + at;
    top = at + ((n + 15) & ~15UL);
    struct head *h = (struct head *)p - 1;
    h->n = n;
    h->magic = MAGIC;
    made++;
  }
  pthread_mutex_unlock(&mu);
  if (!p) errno = ENOMEM;
  return p;
}
static struct head *own(void *p, const char *what) {
  struct head *h = (struct head *)p - 1;
  CHECK((char *)p > pool && (char *)p < pool + sizeof pool && h->magic == MAGIC, "%s of a foreign block %p", what, p);
  return h;
}
void *malloc(size_t n) { return get(16, n); }
void free(void *p) {
  if (!p) return;
  own(p, "free")->magic = 0;
  __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}
void *calloc(size_t a, size_t b) {
  void *p = get(16, a * b);
  if (p) memset(p, 0, a * b);
  return p;
}
void *realloc(void *p, size_t n) {
  void *q = get(16, n);
  if (p && q) {
    struct head *h = own(p, "realloc");
    memcpy(q, p, h->n < n ? h->n : n);
    free(p);
  }
  return q;
}
void *memalign(size_t a, size_t n) { return get(a < 16 ? 16 : a, n); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **out, size_t a, size_t n) {
  void *p = memalign(a, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
size_t malloc_usable_size(void *p) { return p ? own(p, "malloc_usable_size")->n : 0; }

static pthread_key_t key;
static void on_key(void *p) { free(p); }
static __thread int tls = 4;
static void *body(void *arg) {
  (void)arg;
  CHECK(tls++ == 4, "TLS");
  pthread_setspecific(key, malloc(30));
  char *s = strdup("hello"), *line = 0;
  free(s);
  stack_of(pthread_self());
  FILE *f = fopen("/proc/self/stat", "r");
  size_t n = 0;
  CHECK(f && getline(&line, &n, f) > 0, "getline");
  free(line);
  fclose(f);
  return malloc(20);
}
int main(void) {
  pthread_key_create(&key, on_key);
  for (int i = 0; i < 200; i++) {
    pthread_t t[3];
    for (int k = 0; k < 3; k++) t[k] = start(0, body, 0);
    for (int k = 0; k < 3; k++) free(finish(t[k]));
  }
  void *h = dlopen("libm.so.6", RTLD_NOW);
  CHECK(h, "dlopen: %s", dlerror());
  dlclose(h);
  // What a handle of libc gives is not the program's, so that it may be what the program wraps.
  h = dlopen("libc.so.6", RTLD_NOW);
  CHECK(h, "dlopen: %s", dlerror());
  void *(*m)(size_t) = (void *(*)(size_t))dlsym(h, "malloc");
  void *(*r)(void *, size_t) = (void *(*)(void *, size_t))dlsym(h, "realloc");
  void (*f)(void *) = (void (*)(void *))dlsym(h, "free");
  long before = made;
  CHECK(m && r && f && m != malloc && r != realloc && f != free, "a handle of libc gave the program's own");
  for (size_t n = 1; n < 1 << 20; n *= 3) f(r(m(n), n * 2));
  CHECK(made == before, "libc's malloc used the program's");
  for (int i = 0; i < 20; i++) {
    pthread_attr_t a;
    cpu_set_t c;
    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    sched_getaffinity(0, sizeof c, &c);
    pthread_attr_setaffinity_np(&a, sizeof c, &c);
    start(&a, body, 0);
    pthread_attr_destroy(&a);
  }
  CHECK(SETTLES(3000, count_tasks() == 1), "detached threads do not end");
  char *p = 0;
  CHECK(asprintf(&p, "%ld %ld", made, freed) > 0, "asprintf");
  free(p);
  CHECK(made > 1000, "the program's malloc was called %ld times", made);
  return 0;
}
