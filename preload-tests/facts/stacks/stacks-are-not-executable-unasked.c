// A program that did not ask for executable stacks has none: fresh, reused and locked stacks are
// readable and writable, no more.
#include "check.h"
static void *look(void *arg) {
  char here = 0;
  struct vma v = vma_at((uintptr_t)&here);
  CHECK(v.hi && !strcmp(v.perm, "rw-p"), "the stack is '%s'", v.perm);
  return arg;
}
int main(void) {
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < 12; i++) {
      pthread_attr_t a = attr_of((64 << 10) << i % 4, 4096);
      finish(start(&a, look, 0));
      finish(start(0, look, 0));
    }
    if (!has_cap(CAP_IPC_LOCK_)) break;
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s", strerror(errno));
  }
  return 0;
}
