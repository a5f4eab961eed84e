// A program may reach pthread_join and pthread_detach through a handle of libc.so.6, by version,
// past any preloaded library: 5000 threads ended that way leave memory, mappings and address space flat,
// and later threads run undisturbed.
// env: MALLOC_ARENA_MAX=1
#include "check.h"
#include <dlfcn.h>
static void *work(void *arg) {
  volatile char b[2000];
  memset((char *)b, 7, sizeof b);
  char *p = malloc(300);
  CHECK(p, "malloc");
  memset(p, 1, 300);
  for (size_t i = 0; i < sizeof b; i++) CHECK(b[i] == 7, "the stack changed under a running thread");
  free(p);
  return arg;
}
int main(void) {
  void *h = dlopen("libc.so.6", RTLD_NOW);
  CHECK(h, "dlopen: %s", dlerror());
  const char *version = dlvsym(h, "pthread_join", "GLIBC_2.2.5") ? "GLIBC_2.2.5" : "GLIBC_2.17";
  const char *later = dlvsym(h, "pthread_tryjoin_np", "GLIBC_2.3.3") ? "GLIBC_2.3.3" : version;
  int (*join)(pthread_t, void **) = (int (*)(pthread_t, void **))dlvsym(h, "pthread_join", version);
  int (*detach)(pthread_t) = (int (*)(pthread_t))dlvsym(h, "pthread_detach", version);
  int (*tryjoin)(pthread_t, void **) = (int (*)(pthread_t, void **))dlvsym(h, "pthread_tryjoin_np", later);
  CHECK(join && detach && tryjoin, "dlvsym");
  long size = 0, rss = 0;
  int maps = 0;
  pthread_attr_t small = attr_of(100 << 10, 4096);
  for (long i = 0; i < 5000; i++) {
    pthread_t t = start(i % 3 ? &small : 0, work, (void *)i);
    void *r = 0;
    int e;
    if (i % 10 == 9) {
      CHECK(!detach(t), "detach");
    } else if (i % 10 == 8) {
      while ((e = tryjoin(t, &r)) == EBUSY) sched_yield();
      CHECK(!e && r == (void *)i, "tryjoin: %d, result %p", e, r);
    } else if (i % 10 == 7) {
      CHECK(finish(t) == (void *)i, "result");
    } else {
      e = join(t, &r);
      CHECK(!e && r == (void *)i, "join: %d, result %p", e, r);
    }
    if (i == 1000) {
      size = status_kb("VmSize");
      rss = status_kb("VmRSS");
      maps = count_maps();
    }
  }
  CHECK(SETTLES(2000, count_tasks() == 1), "tasks are left");
  size = status_kb("VmSize") - size;
  rss = status_kb("VmRSS") - rss;
  maps = count_maps() - maps;
  // A leak of one stack in ten would be more than a gigabyte; one of a single kind, 50 MB or more.
  CHECK(size < 45 << 10 && rss < 4 << 10 && maps < 40, "left: %ld kB of address space, %ld kB resident, %d mappings",
        size, rss, maps);
  return 0;
}
