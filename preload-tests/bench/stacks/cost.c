// What a parked thread costs the system: N threads with one stack and guard size are created, and
// the growth of VmLck, VmRSS, VmSize, the system's Committed_AS and the number of mappings is divided
// by N. With `use` the thread writes that much of its stack after it started, and the page faults of
// doing so are counted. Arguments: threads, stack (0: default), guard (0: default), locked, use bytes.
#include "../threads/thread.h"
#include <sys/mman.h>
#include <sys/resource.h>

static pthread_barrier_t ready, over;
static size_t use;
static long faults;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static long faults_of_thread(void) {
  struct rusage u;
  NEED_0(getrusage(RUSAGE_THREAD, &u));
  return u.ru_minflt + u.ru_majflt;
}

__attribute__((noinline)) static void write_stack(void) {
  volatile char room[use + 1];
  for (size_t i = 0; i < use; i += 4096) room[use - i] = 1;
  (void)room[0];
}

static void *idle(void *arg) {
  if (use) {
    faults_of_thread();
    long before = faults_of_thread();
    write_stack();
    long after = faults_of_thread();
    pthread_mutex_lock(&m);
    faults += after - before;
    pthread_mutex_unlock(&m);
  }
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&over);
  return arg;
}

static long field(const char *file, const char *name) {
  char line[256];
  long v = -1;
  FILE *f = fopen(file, "r");
  NEED(f);
  while (fgets(line, sizeof line, f))
    if (strncmp(line, name, strlen(name)) == 0) v = atol(line + strlen(name));
  fclose(f);
  NEED(v >= 0);
  return v;
}

static long mappings(void) {
  long n = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  NEED(f);
  for (int c; (c = getc(f)) != EOF;) n += c == '\n';
  fclose(f);
  return n;
}

typedef struct { long lck, rss, size, committed, maps; } cost_t;

static cost_t cost(void) {
  return (cost_t){field("/proc/self/status", "VmLck:"), field("/proc/self/status", "VmRSS:"),
                  field("/proc/self/status", "VmSize:"), field("/proc/meminfo", "Committed_AS:"), mappings()};
}

int main(int argc, char **argv) {
  NEED(argc == 6);
  int n = atoi(argv[1]);
  size_t stack = strtoull(argv[2], NULL, 10), guard = strtoull(argv[3], NULL, 10);
  use = strtoull(argv[5], NULL, 10);
  pthread_attr_t attr;
  NEED_0(pthread_attr_init(&attr));
  if (stack) NEED_0(pthread_attr_setstacksize(&attr, stack));
  if (guard) NEED_0(pthread_attr_setguardsize(&attr, guard));
  NEED_0(pthread_barrier_init(&ready, NULL, (unsigned)n + 1));
  NEED_0(pthread_barrier_init(&over, NULL, (unsigned)n + 1));
  pthread_t *t = calloc((size_t)n, sizeof *t);
  NEED(t);
  if (atoi(argv[4])) NEED_0(mlockall(MCL_CURRENT | MCL_FUTURE));
  // Twice: the first reading allocates what stdio keeps.
  cost();
  cost_t a = cost();
  for (int i = 0; i < n; i++) NEED_0(pthread_create(&t[i], &attr, idle, NULL));
  pthread_barrier_wait(&ready);
  cost_t b = cost();
  pthread_barrier_wait(&over);
  for (int i = 0; i < n; i++) NEED_0(pthread_join(t[i], NULL));
  double d = n;
  fprintf(stderr,
          "{\"lck\": %.1f, \"rss\": %.1f, \"size\": %.1f, \"committed\": %.1f, \"maps\": %.2f, \"faults\": %.2f}\n",
          (double)(b.lck - a.lck) / d, (double)(b.rss - a.rss) / d, (double)(b.size - a.size) / d,
          (double)(b.committed - a.committed) / d, (double)(b.maps - a.maps) / d, (double)faults / d);
  puts("done");
  return 0;
}
