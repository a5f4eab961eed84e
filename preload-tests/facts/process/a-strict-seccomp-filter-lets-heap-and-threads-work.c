// Daemons filter their system calls, chronyd for one: brk, madvise, mmap, mprotect, mremap and
// munmap are allowed, while a call of the mlock family or prctl kills. Heap and threads work on under
// such a filter, unlocked, locked, and locked as an ordinary user with the usual limit.
// variant:
// variant: -DLOCK
// variant: -DLOCK -DORDINARY
#include "check.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/prctl.h>
#define KILL(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
static void filter(void) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    KILL(SYS_mlock),
    KILL(SYS_mlock2),
    KILL(SYS_munlock),
    KILL(SYS_mlockall),
    KILL(SYS_munlockall),
    KILL(SYS_prctl),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog prog = { sizeof code / sizeof *code, code };
  CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog), "seccomp: %s", strerror(errno));
}
static pthread_barrier_t go;
static void heap(unsigned s) {
  static __thread char *p[50];
  for (int i = 0; i < 1500; i++) {
    unsigned k = rnd(&s) % 50;
    if (i % 5 == 0) {
      char *q = realloc(p[k], 1 + rnd(&s) % 6000);
      CHECK(q, "realloc under the filter");
      p[k] = q;
      continue;
    }
    free(p[k]);
    size_t n = 1 + rnd(&s) % (i % 50 ? 2000 : 150000);
    p[k] = i % 7 ? malloc(n) : memalign(256, n);
    CHECK(p[k], "%zu bytes under the filter", n);
    memset(p[k], 1, n);
  }
  for (int k = 0; k < 50; k++) {
    free(p[k]);
    p[k] = 0;
  }
}
static void *body(void *arg) {
  if (arg == &go) pthread_barrier_wait(&go);
  heap(5);
  return arg;
}
static void *quick(void *arg) { return arg; }
int main(void) {
#ifdef ORDINARY
  set_limit(RLIMIT_MEMLOCK, 8 << 20);
  become_ordinary(65534);
  const size_t large = 1 << 20;
#else
  const size_t large = 30 << 20;
#endif
#ifdef LOCK
  if (getuid() == 0) {
    lock_all(MCL_CURRENT | MCL_FUTURE);
  } else {
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  }
#endif
  pthread_barrier_init(&go, 0, 2);
  pthread_attr_t small = attr_of(64 << 10, 4096), guarded = attr_of(128 << 10, 256 << 10);
  pthread_t before = start(&small, body, &go);
  filter();
  pthread_barrier_wait(&go);
  finish(before);
  heap(9);
  for (int i = 0; i < 3; i++) {
    char *p = malloc(large);
    CHECK(p, "%zu bytes under the filter", large);
    memset(p, 1, large);
    p = realloc(p, large + large / 2);
    CHECK(p, "realloc of a large block");
    free(p);
  }
  malloc_trim(0);
  for (int i = 0; i < 40; i++) {
    pthread_t t[3];
    for (int k = 0; k < 3; k++) t[k] = start(k ? &small : &guarded, i % 8 ? quick : body, 0);
    for (int k = 0; k < 3; k++) finish(t[k]);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    start(&small, quick, 0);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_JOINABLE);
#ifndef ORDINARY
    finish(start(0, i % 8 ? quick : body, 0));
#endif
  }
  pid_t p = fork();
  CHECK(p >= 0, "fork");
  if (!p) {
    heap(3);
    finish(start(&small, quick, 0));
    exit(0);
  }
  child_ok(p, "child under the filter");
  return 0;
}
