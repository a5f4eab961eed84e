// A thread starts with the stack aligned as the calling convention demands: locals that ask for
// 16 bytes get them without realignment, vectors can be stored, varargs of doubles be read.
// flags: -mno-red-zone -lm
#include "check.h"
typedef float v4 __attribute__((vector_size(16)));
__attribute__((noinline)) static int aligned_local(void) {
  v4 x __attribute__((aligned(16)));
  void *volatile p = &x;
  *(volatile v4 *)p = (v4){ 1, 2, 3, 4 };
  return ((uintptr_t)p & 15) == 0;
}
static void *look(void *arg) {
  char b[64];
  // The frame address is the entry stack pointer less the return address and the saved register.
  CHECK(((uintptr_t)__builtin_frame_address(0) & 15) == 0, "frame %p", __builtin_frame_address(0));
  CHECK(aligned_local(), "a vector local is not aligned");
  snprintf(b, sizeof b, "%.1f %.1f", 1.5, 2.5);
  CHECK(!strcmp(b, "1.5 2.5"), "%s", b);
  return arg;
}
int main(void) {
  for (size_t n = 16384; n < 200000; n += 1234) {
    pthread_attr_t a = attr_of(n, n % 3 * 1000);
    finish(start(&a, look, 0));
    pthread_attr_destroy(&a);
  }
  return 0;
}
