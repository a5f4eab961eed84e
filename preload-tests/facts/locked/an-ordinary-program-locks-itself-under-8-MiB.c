// A program without privileges and with the usual limit of 8 MiB of locked memory locks itself at
// its start. mlockall counts all address space, reserves of a library included. It succeeds, and
// small threads and blocks go on working.
// variant:
// variant: -DRLIMIT_MIB=6
#include "check.h"
#ifndef RLIMIT_MIB
#define RLIMIT_MIB 8
#endif
static void *work(void *arg) {
  char *p = malloc(3000);
  CHECK(p, "malloc in a thread");
  memset(p, 7, 3000);
  (void)arg;
  return p;
}
int main(void) {
  set_limit(RLIMIT_MEMLOCK, RLIMIT_MIB << 20);
  become_ordinary(65534);
  long size = status_kb("VmSize");
  CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall: %s (address space: %ld kB)", strerror(errno), size);
  pthread_attr_t a = attr_of(64 << 10, 4096);
  for (int i = 0; i < 50; i++) {
    pthread_t t[4];
    for (int k = 0; k < 4; k++) t[k] = start(&a, work, 0);
    for (int k = 0; k < 4; k++) free(finish(t[k]));
  }
  char *q = malloc(200 << 10);
  CHECK(q, "200 KiB under the limit");
  memset(q, 1, 200 << 10);
  free(q);
  errno = 0;
  // glibc 2.36 passes the EAGAIN of mmap on; POSIX wants ENOMEM.
  q = malloc(64 << 20);
  CHECK(!q && (errno == ENOMEM || errno == EAGAIN), "64 MiB over the limit gave %p, errno %d", (void *)q, errno);
  INFO("address space at the start: %ld kB", size);
  return 0;
}
