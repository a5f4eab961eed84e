// A stack is reused, the last one first: a thousand threads one after the other run on one or two
// stacks and map nothing new.
#include "check.h"
static void *where(void *arg) {
  (void)arg;
  return (void *)stack_of(pthread_self()).lo;
}
int main(void) {
  const size_t sizes[] = { 64 << 10, 8 << 20 };
  for (int k = 0; k < 2; k++) {
    pthread_attr_t a = attr_of(sizes[k], 4096);
    void *seen[8];
    int n = 0;
    for (int i = 0; i < 1000; i++) {
      void *lo = finish(start(&a, where, 0));
      int j = 0;
      while (j < n && seen[j] != lo) j++;
      if (j == n) {
        CHECK(n < 3, "a fourth stack for threads that run one at a time, at thread %d", i);
        seen[n++] = lo;
      }
    }
  }
  return 0;
}
