// Once as many threads lived at once as ever will, creating and joining maps, unmaps, protects and
// locks nothing any more: 256 threads with 8 MiB each, more than a cache of 40 MiB holds.
// variant (bare fails):
// fails-with: was called
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
enum { N = 256 };
static pthread_barrier_t in;
static void *stay(void *arg) {
  pthread_barrier_wait(&in);
  return arg;
}
static void batch(const pthread_attr_t *a) {
  static pthread_t t[N];
  for (int i = 0; i < N; i++) t[i] = start(a, stay, 0);
  pthread_barrier_wait(&in);
  for (int i = 0; i < N; i++) finish(t[i]);
}
static void called(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  CHECK(0, "system call %d was called", info->si_syscall);
}
int main(void) {
  pthread_barrier_init(&in, 0, N + 1);
  pthread_attr_t a = attr_of(8 << 20, 4096);
  for (int i = 0; i < 3; i++) batch(&a);
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_sigaction = called;
  sa.sa_flags = SA_SIGINFO;
  CHECK(!sigaction(SIGSYS, &sa, 0), "sigaction");
  static const int watched[] = { SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_mlock, SYS_mlock2, SYS_munlock };
  enum { W = sizeof watched / sizeof *watched };
  struct sock_filter f[2 + 2 * W];
  int n = 0;
  f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < W; i++) {
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, watched[i], 0, 1);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  }
  f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog prog = { (unsigned short)n, f };
  CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) SKIP("no seccomp filter here: %s", strerror(errno));
  for (int i = 0; i < 3; i++) batch(&a);
  return 0;
}
