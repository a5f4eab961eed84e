// setgid, setgroups and setuid reach all 64 threads of a process, idle, waiting in various calls,
// with stacks of all sizes, beside ended ones of every kind; each is seen changed in /proc.
#include "check.h"
#include <dirent.h>
#include <grp.h>
#include <poll.h>
#include <semaphore.h>
enum { N = 64 };
static sem_t sem;
static pthread_barrier_t in;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile int stop;
static void *idle(void *arg) {
  pthread_barrier_wait(&in);
  switch ((long)arg % 4) {
    case 0:
      while (sem_wait(&sem)) {
      }
      break;
    case 1:
      while (!stop) poll(0, 0, 20);
      break;
    case 2:
      pthread_mutex_lock(&mu);
      while (!stop) pthread_cond_wait(&cond, &mu);
      pthread_mutex_unlock(&mu);
      break;
    case 3:
      while (!stop) {
        free(malloc(500));
        nap_ms(1);
      }
      break;
  }
  return arg;
}
static void *quick(void *arg) { return arg; }
static void all_have(const char *key, unsigned id) {
  DIR *d = opendir("/proc/self/task");
  CHECK(d, "opendir");
  int n = 0;
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    char path[300], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
    FILE *f = fopen(path, "r");
    if (!f) continue;
    int found = 0;
    while (fgets(line, sizeof line, f)) {
      unsigned a, b, c, g;
      if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), ": %u %u %u %u", &a, &b, &c, &g) == 4) {
        CHECK(a == id && b == id && c == id && g == id, "task %s: %s", e->d_name, line);
        found = 1;
      }
    }
    fclose(f);
    CHECK(found, "no %s of task %s", key, e->d_name);
    n++;
  }
  closedir(d);
  CHECK(n > N, "%d tasks", n);
}
int main(void) {
  if (!has_cap(CAP_SETUID_) || !has_cap(CAP_SETGID_)) SKIP("needs CAP_SETUID and CAP_SETGID");
  pthread_t t[N], ended;
  sem_init(&sem, 0, 0);
  pthread_barrier_init(&in, 0, N + 1);
  for (int i = 0; i < 20; i++) finish(start(0, quick, 0));
  for (long i = 0; i < N; i++) {
    pthread_attr_t a = attr_of((32 << 10) << i % 7, i % 3 * 4096);
    t[i] = start(i % 5 ? &a : 0, idle, (void *)i);
    if (i % 8 == 0) CHECK(!pthread_detach(start(&a, quick, 0)), "detach");
  }
  ended = start(0, quick, &sem);
  pthread_barrier_wait(&in);
  nap_ms(5);
  for (unsigned i = 1; i <= 10; i++) {
    CHECK(!setresgid(i, i, i), "setresgid: %s", strerror(errno));
    all_have("Gid", i);
    finish(start(0, quick, 0));
  }
  gid_t group = 7;
  CHECK(!setgroups(1, &group), "setgroups: %s", strerror(errno));
  CHECK(!setgid(65534), "setgid: %s", strerror(errno));
  all_have("Gid", 65534);
  CHECK(!setuid(65534), "setuid: %s", strerror(errno));
  all_have("Uid", 65534);
  CHECK(finish(ended) == &sem, "the ended thread");
  pthread_mutex_lock(&mu);
  stop = 1;
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mu);
  for (int i = 0; i < N; i++) sem_post(&sem);
  for (long i = 0; i < N; i++) CHECK(finish(t[i]) == (void *)i, "result");
  CHECK(finish(start(0, quick, &sem)) == &sem, "a thread afterwards");
  return 0;
}
