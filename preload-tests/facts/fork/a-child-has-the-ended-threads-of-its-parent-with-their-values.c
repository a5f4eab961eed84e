// In a fork child the threads of the parent that ended and were not joined yet can be joined, tell
// their value and are reported as before, whether the memory of their stacks was given back or not;
// then new threads use their stacks. So in a child of a locked process, in one that locks itself,
// and where the kernel gives no locked pages back.
// env: LIBFIX_STACK_CACHE=4M
// variant:
// variant: -DLOCKED
// variant: -DLOCKED -DOLD_KERNEL
// variant: -DLOCKED -DCHILD_LOCKED
// variant: -DCHILD_LOCKED
#include "stay.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
enum { N = 12, LIVE = 2, NEW = 20 };
static pthread_t ended[N], live[LIVE];
static struct stack was[N];
static void *deep(void *arg) {
  enum { BYTES = 700 << 10 };
  volatile char *p = __builtin_alloca(BYTES);
  for (size_t i = 0; i < BYTES; i += 4096) p[BYTES - 1 - i] = 1;
  // Every third leaves otherwise.
  if ((uintptr_t)arg % 3 == 0) pthread_exit((char *)arg + 1000);
  return (char *)arg + 1000;
}
static void *quick(void *arg) { return arg; }
static void join_ended(void) {
  for (int i = 0; i < N; i++) {
    struct stack now = stack_of(ended[i]);
    CHECK(now.lo == was[i].lo && now.size == was[i].size && now.guard == was[i].guard, "thread %d: reported otherwise", i);
    CHECK(finish(ended[i]) == (void *)(uintptr_t)(i + 1000), "thread %d: another value", i);
  }
}
static void new_threads(const pthread_attr_t *a) {
  pthread_t t[NEW];
  for (uintptr_t i = 0; i < NEW; i++) t[i] = start(a, deep, (void *)i);
  for (uintptr_t i = 0; i < NEW; i++) CHECK(finish(t[i]) == (void *)(i + 1000), "a new thread's value");
}
#ifdef OLD_KERNEL
// Before 5.18 the kernel does not know MADV_DONTNEED_LOCKED.
static void forget_advice(void) {
  struct sock_filter f[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 24, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog prog = { sizeof f / sizeof *f, f };
  CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) SKIP("no seccomp filter here: %s", strerror(errno));
}
#endif
int main(void) {
#ifdef LOCKED
  lock_all(MCL_CURRENT | MCL_FUTURE);
#endif
#ifdef OLD_KERNEL
  forget_advice();
#endif
  pthread_attr_t a = attr_of(1 << 20, 4096), small = attr_of(64 << 10, 4096);
  pthread_barrier_init(&in, 0, LIVE + 1);
  pthread_barrier_init(&out, 0, LIVE + 1);
  for (int i = 0; i < LIVE; i++) live[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  for (uintptr_t i = 0; i < N; i++) {
    ended[i] = start(&a, deep, (void *)i);
    was[i] = stack_of(ended[i]);
  }
  CHECK(SETTLES(5000, count_tasks() == LIVE + 1), "threads do not end");
  for (int i = 0; i < 2 * N; i++) finish(start(&small, quick, 0));
  for (int round = 0; round < 3; round++) {
    pid_t p = fork();
    if (p == 0) {
      alarm(20);
#ifdef CHILD_LOCKED
      lock_all(MCL_CURRENT | MCL_FUTURE);
#endif
      join_ended();
      for (int i = 0; i < LIVE; i++) CHECK(!pthread_join(live[i], 0), "join of one that runs in the parent");
      new_threads(&a);
      new_threads(&a);
      _exit(0);
    }
    child_ok(p, "the child");
    new_threads(&a);
  }
  join_ended();
  pthread_barrier_wait(&out);
  for (int i = 0; i < LIVE; i++) finish(live[i]);
  new_threads(&a);
  return 0;
}
