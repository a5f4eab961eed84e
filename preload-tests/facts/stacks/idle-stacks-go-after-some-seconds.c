// The address space of 100 threads of 8 MiB that lived at once is back but for 40 MiB some seconds
// after they ended, in a program that goes on creating threads one at a time.
#include "stay.h"
enum { N = 100 };
static void *nothing(void *arg) { return arg; }
int main(void) {
  pthread_attr_t a = attr_of(8 << 20, 4096);
  finish(start(&a, nothing, 0));
  long size = status_kb("VmSize");
  int maps = count_maps();
  pthread_t t[N];
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  for (int i = 0; i < N; i++) t[i] = start(&a, stay, 0);
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  CHECK(SETTLES(15000, (finish(start(&a, nothing, 0)), status_kb("VmSize") - size < 50 << 10)),
        "%ld kB of address space are left", status_kb("VmSize") - size);
  CHECK(count_maps() - maps < 20, "%d more mappings", count_maps() - maps);
  return 0;
}
