// What the fact programs share: the assertion, the skip, and readers of /proc that use no heap.
//
// A failed CHECK prints one line that begins with FAIL and ends the process with 1; SKIP prints
// the reason and ends it with 77. Both use dprintf and _exit, so that they also work inside
// handlers, destructors and forked children.
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

#if defined __cplusplus && defined IN_CONSTRUCTOR
// The harness renames main to run the program inside a constructor, which calls it from C.
extern "C" int main(void);
#endif

#define CHECK(cond, ...)                                                                    \
  do {                                                                                      \
    if (!(cond)) {                                                                          \
      dprintf(2, "FAIL %s:%d: %s: ", __FILE__, __LINE__, #cond);                            \
      dprintf(2, __VA_ARGS__);                                                              \
      dprintf(2, "\n");                                                                     \
      _exit(1);                                                                             \
    }                                                                                       \
  } while (0)

#define SKIP(...)                                                                           \
  do {                                                                                      \
    dprintf(2, "SKIP: ");                                                                   \
    dprintf(2, __VA_ARGS__);                                                                \
    dprintf(2, "\n");                                                                       \
    _exit(77);                                                                              \
  } while (0)

#define INFO(...)                                                                           \
  do {                                                                                      \
    dprintf(1, "info: ");                                                                   \
    dprintf(1, __VA_ARGS__);                                                                \
    dprintf(1, "\n");                                                                       \
  } while (0)

// Waits up to MS milliseconds for COND, which some other thread or the kernel makes true.
#define SETTLES(ms, cond)                                                                   \
  ({                                                                                        \
    double until_ = now_s() + (ms) / 1000.0;                                                \
    int met_;                                                                               \
    while (!(met_ = !!(cond)) && now_s() < until_) nap_ms(2);                               \
    met_;                                                                                   \
  })

UNUSED static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

UNUSED static void nap_ms(int ms) {
  struct timespec t = { ms / 1000, (ms % 1000) * 1000000L };
  while (nanosleep(&t, &t) && errno == EINTR) {
  }
}

UNUSED static unsigned rnd(unsigned *s) {
  *s ^= *s << 13;
  *s ^= *s >> 17;
  return *s ^= *s << 5;
}

// ---- /proc -----------------------------------------------------------------------------

// Calls LINE for every line of a file until it returns non-zero; returns what it returned.
// Lines longer than the buffer are cut.
UNUSED static long each_line(const char *path, long (*line)(char *, void *), void *with) {
  char b[4096];
  size_t have = 0;
  long r = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0, "%s: %s", path, strerror(errno));
  for (;;) {
    ssize_t n = read(fd, b + have, sizeof b - 1 - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += (size_t)n;
    char *p = b, *nl;
    while (!r && (nl = (char *)memchr(p, '\n', have - (size_t)(p - b)))) {
      *nl = 0;
      r = line(p, with);
      p = nl + 1;
    }
    if (r) break;
    have -= (size_t)(p - b);
    memmove(b, p, have);
    if (have == sizeof b - 1) have = 0;
  }
  close(fd);
  return r;
}

struct field_ {
  const char *name;
  long value;
};
UNUSED static long field_line_(char *l, void *w) {
  struct field_ *f = (struct field_ *)w;
  size_t n = strlen(f->name);
  if (strncmp(l, f->name, n) || l[n] != ':') return 0;
  f->value = atol(l + n + 1);
  return 1;
}
// One "Name:   123 kB" field; a name that is not there fails the program.
UNUSED static long field_kb(const char *path, const char *name) {
  struct field_ f = { name, -1 };
  CHECK(each_line(path, field_line_, &f), "%s has no %s", path, name);
  return f.value;
}
UNUSED static long status_kb(const char *name) { return field_kb("/proc/self/status", name); }
UNUSED static long meminfo_kb(const char *name) { return field_kb("/proc/meminfo", name); }

UNUSED static long count_line_(char *l, void *w) {
  (void)l;
  ++*(int *)w;
  return 0;
}
UNUSED static int count_maps(void) {
  int n = 0;
  each_line("/proc/self/maps", count_line_, &n);
  return n;
}

// Entries of /proc/self/task, read without opendir, which would use the heap.
UNUSED static int count_tasks(void) {
  char b[4096];
  int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
  CHECK(fd >= 0, "/proc/self/task: %s", strerror(errno));
  long r;
  while ((r = syscall(SYS_getdents64, fd, b, sizeof b)) > 0)
    for (long at = 0; at < r;) {
      unsigned short len;
      memcpy(&len, b + at + 16, 2);
      n += b[at + 19] != '.';
      at += len;
    }
  close(fd);
  return n;
}

struct vma {
  uintptr_t at, lo, hi;
  char perm[5];
  char flags[160];
  long lck_kb, rss_kb;
};
UNUSED static long vma_line_(char *l, void *w) {
  struct vma *v = (struct vma *)w;
  unsigned long lo, hi;
  char perm[5];
  if (sscanf(l, "%lx-%lx %4s", &lo, &hi, perm) == 3) {
    if (v->hi) return 1;
    if (v->at >= lo && v->at < hi) {
      v->lo = lo;
      v->hi = hi;
      memcpy(v->perm, perm, 5);
    }
  } else if (v->hi) {
    if (!strncmp(l, "Locked:", 7)) v->lck_kb = atol(l + 7);
    if (!strncmp(l, "Rss:", 4)) v->rss_kb = atol(l + 4);
    if (!strncmp(l, "VmFlags:", 8)) {
      snprintf(v->flags, sizeof v->flags, "%s ", l + 8);
      return 1;
    }
  }
  return 0;
}
// The mapping that holds ADDR as the kernel sees it; hi is 0 when there is none.
UNUSED static struct vma vma_at(uintptr_t addr) {
  struct vma v;
  memset(&v, 0, sizeof v);
  v.at = addr;
  each_line("/proc/self/smaps", vma_line_, &v);
  return v;
}
UNUSED static int vma_has(const struct vma *v, const char *flag) {
  char b[8];
  snprintf(b, sizeof b, " %s ", flag);
  return strstr(v->flags, b) != 0;
}

// Pages of [a, a+len) that are in memory.
UNUSED static long resident_pages(uintptr_t a, size_t len) {
  uint64_t e[512];
  long c = 0;
  int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0, "pagemap: %s", strerror(errno));
  for (size_t off = 0; off < len; off += sizeof e / 8 * 4096) {
    ssize_t n = pread(fd, e, sizeof e, (off_t)((a + off) / 4096 * 8));
    CHECK(n > 0, "pagemap read: %s", strerror(errno));
    for (ssize_t i = 0; i < n / 8 && off + (size_t)i * 4096 < len; i++) c += (long)(e[i] >> 63);
  }
  close(fd);
  return c;
}

UNUSED static long faults(int who) {
  struct rusage r;
  getrusage(who, &r);
  return r.ru_minflt + r.ru_majflt;
}

// ---- privileges ------------------------------------------------------------------------

UNUSED static long cap_line_(char *l, void *w) {
  if (strncmp(l, "CapEff:", 7)) return 0;
  *(unsigned long *)w = strtoul(l + 7, 0, 16);
  return 1;
}
UNUSED static int has_cap(int cap) {
  unsigned long c = 0;
  each_line("/proc/self/status", cap_line_, &c);
  return c >> cap & 1;
}
enum { CAP_SETGID_ = 6, CAP_SETUID_ = 7, CAP_IPC_LOCK_ = 14, CAP_SYS_NICE_ = 23, CAP_SYS_RESOURCE_ = 24 };

// Locks the process. Only a missing capability is a skip: a refusal with it is a failure.
UNUSED static void lock_all(int flags) {
  if (!has_cap(CAP_IPC_LOCK_)) SKIP("needs CAP_IPC_LOCK");
  CHECK(!mlockall(flags), "mlockall(%d): %s", flags, strerror(errno));
}

// From root to an ordinary user; an ordinary user stays what it is.
UNUSED static void become_ordinary(uid_t id) {
  if (getuid() == 0)
    CHECK(!setresgid(id, id, id) && !setresuid(id, id, id), "drop to %d: %s", (int)id, strerror(errno));
  CHECK(!has_cap(CAP_IPC_LOCK_), "still has CAP_IPC_LOCK");
}

UNUSED static void set_limit(int what, size_t bytes) {
  struct rlimit r = { bytes, bytes }, now;
  getrlimit((__rlimit_resource_t)what, &now);
  if (now.rlim_max < bytes && !has_cap(CAP_SYS_RESOURCE_)) SKIP("the hard limit %d is below %zu", what, bytes);
  CHECK(!setrlimit((__rlimit_resource_t)what, &r), "setrlimit %d to %zu: %s", what, bytes, strerror(errno));
}

// ---- threads ---------------------------------------------------------------------------

UNUSED static pthread_t start(const pthread_attr_t *a, void *(*fn)(void *), void *arg) {
  pthread_t t;
  int e = pthread_create(&t, a, fn, arg);
  CHECK(!e, "pthread_create: %s", strerror(e));
  return t;
}
UNUSED static void *finish(pthread_t t) {
  void *r = (void *)0x5eed;
  int e = pthread_join(t, &r);
  CHECK(!e, "pthread_join: %s", strerror(e));
  return r;
}
UNUSED static pthread_attr_t attr_of(size_t stack, size_t guard) {
  pthread_attr_t a;
  CHECK(!pthread_attr_init(&a), "pthread_attr_init");
  int e = pthread_attr_setstacksize(&a, stack);
  CHECK(!e, "setstacksize(%zu): %s", stack, strerror(e));
  e = pthread_attr_setguardsize(&a, guard);
  CHECK(!e, "setguardsize(%zu): %s", guard, strerror(e));
  return a;
}

struct stack {
  uintptr_t lo, hi;
  size_t size, guard;
};
UNUSED static struct stack stack_of(pthread_t t) {
  pthread_attr_t a;
  void *p = 0;
  struct stack s;
  int e = pthread_getattr_np(t, &a);
  CHECK(!e, "pthread_getattr_np: %s", strerror(e));
  CHECK(!pthread_attr_getstack(&a, &p, &s.size), "pthread_attr_getstack");
  CHECK(!pthread_attr_getguardsize(&a, &s.guard), "pthread_attr_getguardsize");
  pthread_attr_destroy(&a);
  s.lo = (uintptr_t)p;
  s.hi = s.lo + s.size;
  return s;
}

// ---- processes -------------------------------------------------------------------------

// Waits for a child and demands exit code 0 of it.
UNUSED static void child_ok(pid_t p, const char *what) {
  int st = -1;
  CHECK(p > 0, "fork: %s", strerror(errno));
  while (waitpid(p, &st, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(st) && WEXITSTATUS(st) == 77) _exit(77);
  CHECK(st == 0, "%s: child ended with status 0x%x%s", what, st,
        WIFSIGNALED(st) && WTERMSIG(st) == SIGALRM ? " (hung)" : "");
}

#endif
