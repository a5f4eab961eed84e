// A locked program of ordinary shape: it allocates, locks itself, starts threads, each of which keeps
// LIVE KiB of small blocks, and then says what is locked and resident. Anything refused on the way
// ends it with 1, which is what the search for the least limit looks at.
// Arguments: threads, stack bytes, live KiB per thread.
#include "../threads/thread.h"
#include <fcntl.h>
#include <sys/mman.h>

static size_t live;
static pthread_barrier_t ready, over;

// Fills N bytes' worth of blocks and chains them, so that all of them stay reachable.
static void *fill(uint64_t seed, size_t n) {
  void *chain = NULL;
  for (size_t used = 0; used < n;) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    size_t size = (size_t)64 << (seed >> 33) % 6;
    size += (seed >> 40) & (size - 1);
    if (size > n - used) size = n - used < 64 ? 64 : n - used;
    void **p = malloc(size);
    NEED(p);
    memset(p, 1, size);
    *p = chain;
    chain = p;
    used += size;
  }
  return chain;
}

static void *hold(void *arg) {
  void *chain = fill((uintptr_t)arg, live);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&over);
  return chain;
}

// Reads /proc/self/status without the heap and gives the number after NAME.
static long field(const char *name) {
  static char text[8192];
  int fd = open("/proc/self/status", O_RDONLY);
  NEED(fd >= 0);
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  NEED(n > 0);
  text[n] = 0;
  const char *at = strstr(text, name);
  NEED(at);
  return atol(at + strlen(name));
}

int main(int argc, char **argv) {
  NEED(argc == 4);
  int n = atoi(argv[1]);
  size_t stack = strtoull(argv[2], NULL, 10);
  live = strtoull(argv[3], NULL, 10) << 10;
  void *chain = fill(99, live);
  NEED_0(mlockall(MCL_CURRENT | MCL_FUTURE));
  pthread_attr_t attr;
  NEED_0(pthread_attr_init(&attr));
  NEED_0(pthread_attr_setstacksize(&attr, stack));
  NEED_0(pthread_barrier_init(&ready, NULL, (unsigned)n + 1));
  NEED_0(pthread_barrier_init(&over, NULL, (unsigned)n + 1));
  static pthread_t t[512];
  NEED(n >= 0 && n <= 512);
  for (int i = 0; i < n; i++) NEED_0(pthread_create(&t[i], &attr, hold, (void *)(intptr_t)(i + 1)));
  pthread_barrier_wait(&ready);
  long lck = field("VmLck:"), rss = field("VmRSS:"), size = field("VmSize:");
  // A little more of everything, as a program goes on.
  void *more = fill(7, 16 << 10);
  pthread_barrier_wait(&over);
  for (int i = 0; i < n; i++) {
    void *theirs;
    NEED_0(pthread_join(t[i], &theirs));
    NEED(theirs);
  }
  NEED(chain && more);
  char line[128];
  int k = snprintf(line, sizeof line, "{\"lck\": %ld, \"rss\": %ld, \"size\": %ld}\n", lck, rss, size);
  NEED(write(2, line, (size_t)k) == k && write(1, "done\n", 5) == 5);
  return 0;
}
