// The launcher of all benchmarks: starts one program, waits for it and reports what it cost.
//
// Linked statically and small on purpose. A process inherits the peak RSS of whatever called exec,
// so a program started from Python would never show less than Python's own 10 MB; and the preload
// is put into the child's environment only, so the launcher itself never carries it.
//
//   measure [-o REPORT] [-t SECONDS] [-n TIMES] [-s] [-u UID] [-l BYTES] [-a BYTES] [-d DIR]
//           [-c CPU] [-e NAME=VALUE]... PROGRAM ARG...
//
// -n starts the program TIMES times in a row and reports the sums. -s stops the program at its exit
// (ptrace) and reads sizes from /proc, which disturbs the time. -u gives up all rights for UID.
// -l and -a set RLIMIT_MEMLOCK and RLIMIT_AS, -c keeps the program on one CPU. The report is one JSON object.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t child;
static volatile sig_atomic_t late;

static void on_alarm(int sig) {
  (void)sig;
  late = 1;
  if (child > 0) kill(-child, SIGKILL);
}

static void stop(const char *what) {
  perror(what);
  exit(125);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static long sizes[5] = {-1, -1, -1, -1, -1};
static const char *const names[5] = {"VmPeak:", "VmSize:", "VmHWM:", "RssAnon:", "VmLck:"};

static void read_sizes(pid_t pid) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *f = fopen(path, "r");
  if (!f) return;
  while (fgets(line, sizeof line, f))
    for (int i = 0; i < 5; i++)
      if (!strncmp(line, names[i], strlen(names[i]))) sizes[i] = atol(line + strlen(names[i]));
  fclose(f);
}

static void limit(int which, const char *bytes) {
  struct rlimit r;
  r.rlim_cur = r.rlim_max = strtoull(bytes, NULL, 10);
  if (setrlimit(which, &r)) stop("setrlimit");
}

// In a function of its own, so that nothing the launcher still needs lives in the frame vfork shares.
__attribute__((noinline)) static pid_t start(int look, char **command) {
  pid_t pid = look ? fork() : vfork();
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (look) ptrace(PTRACE_TRACEME, 0, 0, 0);
    execvp(command[0], command);
    _exit(errno == ENOENT ? 127 : 126);
  }
  return pid;
}

int main(int argc, char **argv) {
  const char *report = NULL, *as = NULL;
  int times = 1, look = 0, seconds = 0, cpu = -1;
  long uid = -1;
  for (int c; (c = getopt(argc, argv, "+o:t:n:su:l:a:d:c:e:")) != -1;) switch (c) {
      case 'o': report = optarg; break;
      case 't': seconds = atoi(optarg); break;
      case 'n': times = atoi(optarg); break;
      case 's': look = 1; break;
      case 'u': uid = atol(optarg); break;
      case 'l': limit(RLIMIT_MEMLOCK, optarg); break;
      case 'a': as = optarg; break;
      case 'd': if (chdir(optarg)) stop(optarg); break;
      case 'c': cpu = atoi(optarg); break;
      case 'e': if (putenv(optarg)) stop(optarg); break;
      default: return 125;
    }
  if (optind >= argc) return 125;
  int out = report ? open(report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : dup(2);
  if (out < 0) stop(report);
  if (uid >= 0 && (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))) stop("setresuid");
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) stop("sched_setaffinity");
  }
  if (as) limit(RLIMIT_AS, as);

  struct sigaction sa = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &sa, NULL);
  alarm(seconds);
  double wall = 0, user = 0, sys = 0;
  long rss = 0, minor = 0, major = 0, given = 0, taken = 0;
  int status = 0;
  for (int i = 0; i < times && !late; i++) {
    double t0 = now();
    pid_t pid = start(look, argv + optind);
    if (pid < 0) stop("fork");
    child = pid;
    struct rusage u;
    for (int first = 1;;) {
      if (wait4(pid, &status, __WALL, &u) < 0) {
        if (errno == EINTR) continue;
        stop("wait4");
      }
      if (!WIFSTOPPED(status)) break;
      int sig = WSTOPSIG(status);
      if (first && sig == SIGTRAP) {
        ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
        first = sig = 0;
      } else if (status >> 16 == PTRACE_EVENT_EXIT) {
        read_sizes(pid);
        sig = 0;
      }
      ptrace(PTRACE_CONT, pid, 0, (long)sig);
    }
    wall += now() - t0;
    user += u.ru_utime.tv_sec + u.ru_utime.tv_usec / 1e6;
    sys += u.ru_stime.tv_sec + u.ru_stime.tv_usec / 1e6;
    if (u.ru_maxrss > rss) rss = u.ru_maxrss;
    minor += u.ru_minflt;
    major += u.ru_majflt;
    given += u.ru_nvcsw;
    taken += u.ru_nivcsw;
    child = 0;
    if (status) break;
  }
  dprintf(out,
          "{\"rc\": %d, \"signal\": %d, \"late\": %d, \"wall\": %.6f, \"user\": %.6f, \"sys\": %.6f, "
          "\"rss\": %ld, \"minflt\": %ld, \"majflt\": %ld, \"nvcsw\": %ld, \"nivcsw\": %ld, "
          "\"vmpeak\": %ld, \"vmsize\": %ld, \"vmhwm\": %ld, \"rssanon\": %ld, \"vmlck\": %ld}\n",
          WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0, (int)late,
          wall, user, sys, rss, minor, major, given, taken, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]);
  return 0;
}
