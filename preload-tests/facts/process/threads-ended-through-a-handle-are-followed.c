// Threads started, joined and detached through a handle of libc leave mappings and memory flat at
// once, and a process locked through it does not have the guards of its threads locked.
// env: MALLOC_ARENA_MAX=1
// variant:
// variant (bare fails): -DGUARDS
// fails-with: a guard is locked
#include "check.h"
#include <dlfcn.h>
static void *work(void *arg) {
  free(malloc(3000));
  return arg;
}
static void *stay(void *arg) {
  pthread_barrier_wait(arg);
  pthread_barrier_wait(arg);
  return arg;
}
int main(void) {
  void *h = dlopen("libc.so.6", RTLD_NOW), *r;
  CHECK(h, "dlopen: %s", dlerror());
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
    (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(h, "pthread_create");
  int (*join)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(h, "pthread_join");
  int (*tryjoin)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(h, "pthread_tryjoin_np");
  int (*detach)(pthread_t) = (int (*)(pthread_t))dlsym(h, "pthread_detach");
  int (*lock)(int) = (int (*)(int))dlsym(h, "mlockall");
  CHECK(create && join && tryjoin && detach && lock, "dlsym");
  pthread_attr_t small = attr_of(100 << 10, 4096);
  pthread_barrier_t barrier;
  pthread_t other, t;
  pthread_barrier_init(&barrier, 0, 2);
  // While another thread lives, a join that was not seen would leave its stack behind.
  CHECK(!create(&other, 0, stay, &barrier), "create");
  pthread_barrier_wait(&barrier);
  int maps = 0;
  for (long i = 0; i < 3000; i++) {
    CHECK(!(i % 2 ? create : pthread_create)(&t, i % 3 ? &small : 0, work, (void *)i), "create");
    if (i % 3 == 0)
      while (tryjoin(t, &r) == EBUSY) sched_yield();
    else
      CHECK(!join(t, &r), "join");
    CHECK(r == (void *)i, "result");
    if (i == 1000) maps = count_maps();
  }
  maps = count_maps() - maps;
  CHECK(maps < 6, "%d mappings left", maps);
  for (int i = 0; i < 100; i++) CHECK(!create(&t, &small, work, 0) && !detach(t), "detach");
  CHECK(SETTLES(3000, count_tasks() == 2), "detached threads do not end");
#ifdef GUARDS
  if (!has_cap(CAP_IPC_LOCK_)) SKIP("needs CAP_IPC_LOCK");
  CHECK(!lock(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  struct vma guard = vma_at(stack_of(other).lo - 1);
  CHECK(guard.hi && !vma_has(&guard, "lo"), "a guard is locked:%s", guard.flags);
#endif
  pthread_barrier_wait(&barrier);
  CHECK(!join(other, &r) && r == &barrier, "join");
  return 0;
}
