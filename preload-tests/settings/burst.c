// burst COUNT STACK-KIB: how many stacks stay mapped when COUNT threads that lived at once have
// ended, as the address space tells. Prints that number.
#include "check.h"
static pthread_barrier_t in, out;
static void *stay(void *arg) {
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  return arg;
}
int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int n = atoi(argv[1]);
  long kb = atol(argv[2]);
  pthread_t t[64];
  CHECK(n <= 64, "too many");
  pthread_attr_t a = attr_of((size_t)kb << 10, 4096);
  pthread_barrier_init(&in, 0, (unsigned)n + 1);
  pthread_barrier_init(&out, 0, (unsigned)n + 1);
  for (int i = 0; i < n; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  long full = status_kb("VmSize");
  pthread_barrier_wait(&out);
  for (int i = 0; i < n; i++) finish(t[i]);
  long left = status_kb("VmSize");
  // Rounded: a stack is its size and a page of guard.
  printf("%ld\n", n - (full - left + kb / 2) / kb);
  return 0;
}
