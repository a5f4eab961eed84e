// Where the kernel refuses to open a stack that was reserved, or to lock it, pthread_create gives
// EAGAIN, and 500 refusals leave no mapping, no address space and nothing locked behind.
// variant: -DREFUSED=SYS_mprotect
// variant: -DREFUSED=SYS_mprotect -DLOCKED
// variant: -DREFUSED=SYS_mmap -DLOCKED
// env: LIBFIX_STACK_LOCK=64K
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
static void *nothing(void *arg) { return arg; }
// Refuses calls of 8 MiB less 64 KiB or more, or of exactly 64 KiB at a given address, the parts of
// the large stack, but no mapping at an address of the kernel's choice.
static void refuse(void) {
  struct sock_filter f[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REFUSED, 0, 6),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, 0),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 64 << 10, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (8 << 20) - (64 << 10), 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog prog = { sizeof f / sizeof *f, f };
  CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) SKIP("no seccomp filter here: %s", strerror(errno));
}
int main(void) {
  pthread_attr_t large = attr_of(8 << 20, 1 << 20), small = attr_of(32 << 10, 4096);
#ifdef LOCKED
  lock_all(MCL_CURRENT | MCL_FUTURE);
#endif
  finish(start(&small, nothing, 0));
  refuse();
  long size = 0, lck = 0;
  int maps = 0, refused = 0;
  for (int i = 0; i < 500; i++) {
    pthread_t t;
    int e = pthread_create(&t, &large, nothing, 0);
    if (!e) finish(t);
    CHECK(!e || e == EAGAIN, "refused with %d (%s)", e, strerror(e));
    refused += e == EAGAIN;
    finish(start(&small, nothing, 0));
    if (i) continue;
    size = status_kb("VmSize");
    lck = status_kb("VmLck");
    maps = count_maps();
  }
  size = status_kb("VmSize") - size;
  lck = status_kb("VmLck") - lck;
  maps = count_maps() - maps;
  CHECK(size < 256 && lck < 256 && maps < 4, "%d refusals left %ld kB, %ld kB locked, %d mappings", refused, size, lck, maps);
  INFO("%d of 500 were refused", refused);
  return 0;
}
