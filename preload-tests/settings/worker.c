// The program the settings are tried on: worker TURNS LIVE STACK-KIB GUARD-KIB [lock]
//
// Starts and joins TURNS threads one after the other, then starts LIVE threads that stay; holds
// 3 MiB of heap after having held 6, and exits with 3.
#include "check.h"
static pthread_barrier_t here;
static void *quick(void *arg) { return arg; }
static void *stay(void *arg) {
  pthread_barrier_wait(&here);
  pause();
  return arg;
}
static char *volatile block[1536];
int main(int argc, char **argv) {
  if (argc < 5) return 2;
  int turns = atoi(argv[1]), live = atoi(argv[2]);
  pthread_attr_t a = attr_of((size_t)atoi(argv[3]) << 10, (size_t)atoi(argv[4]) << 10);
  if (argc > 5) lock_all(MCL_CURRENT | MCL_FUTURE);
  for (int i = 0; i < 1536; i++) {
    block[i] = malloc(4096);
    CHECK(block[i], "malloc");
    block[i][0] = 1;
  }
  for (int i = 0; i < 768; i++) free(block[i]);
  for (int i = 0; i < turns; i++) finish(start(&a, quick, 0));
  pthread_barrier_init(&here, 0, (unsigned)live + 1);
  for (int i = 0; i < live; i++) start(&a, stay, 0);
  pthread_barrier_wait(&here);
  return 3;
}
