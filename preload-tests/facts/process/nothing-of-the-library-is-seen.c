// What scripts and daemons count on: no descriptor, signal handler, blocked signal, timer, thread or
// output that the program did not make, at its start and after threads; it also works with all
// descriptors closed, in little address space, and under any stack limit.
// limits:
// limits: -v 150000
// limits: -S -s unlimited
// limits: -S -s 256
// limits: -S -s 8192
#include "check.h"
#include <sys/stat.h>
#include <sys/time.h>
static void *work(void *arg) {
  void *p = malloc(1 << 20);
  CHECK(p, "1 MiB in a thread");
  memset(p, 1, 1 << 20);
  free(p);
  return arg;
}
static void threads(void) {
  pthread_attr_t a = attr_of(256 << 10, 4096);
  for (int r = 0; r < 20; r++) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) t[i] = start(&a, work, 0);
    for (int i = 0; i < 4; i++) finish(t[i]);
  }
}
static int next_fd(void) {
  int fd = open("/dev/null", O_RDWR);
  close(fd);
  return fd;
}
static void handlers(const char *when) {
  for (int s = 1; s < 65; s++) {
    struct sigaction a;
    if (s != 32 && s != 33 && !sigaction(s, 0, &a)) CHECK(a.sa_handler == SIG_DFL, "signal %d has a handler %s", s, when);
  }
}
static void quiet(int data) {
  struct itimerval it;
  sigset_t m;
  stack_t ss;
  CHECK(next_fd() == data + 1, "the first free descriptor is %d, not %d", next_fd(), data + 1);
  CHECK(count_tasks() == 1, "%d tasks at the start", count_tasks());
  sigprocmask(SIG_BLOCK, 0, &m);
  for (int s = 1; s < 65; s++)
    if (s != 32 && s != 33) CHECK(!sigismember(&m, s), "signal %d is blocked at the start", s);
  handlers("at the start");
  CHECK(SIGRTMIN == 34, "SIGRTMIN is %d", SIGRTMIN);
  sigaltstack(0, &ss);
  CHECK(ss.ss_flags & SS_DISABLE, "an alternate stack is set");
  for (int i = 0; i < 3; i++) {
    getitimer(i, &it);
    CHECK(!it.it_value.tv_sec && !it.it_value.tv_usec, "timer %d runs", i);
  }
  threads();
  CHECK(next_fd() == data + 1, "a descriptor is open after threads");
  CHECK(SETTLES(2000, count_tasks() == 1), "%d tasks after threads", count_tasks());
  handlers("after threads");
  // From here on descriptors 0, 1 and 2 are a file, in which nobody but us may write.
  for (int i = 0; i < 200; i++)
    if (i != data) close(i);
  if (dup(data) != 0 || dup(data) != 1 || dup(data) != 2) _exit(92);
  close(data);
  threads();
  free(malloc(99 << 20));
  free(realloc(malloc(5), 1000000));
  void *volatile big = malloc(SIZE_MAX / 2 + 9);
  if (big) _exit(93);
  if (lseek(0, 0, SEEK_END) != 0) _exit(94);
  // Not so much as one descriptor: nothing may need them.
  close(0), close(1), close(2);
  threads();
  if (open("/dev/null", O_RDWR) != 0) _exit(95);
}
int main(int argc, char **argv) {
  if (argc > 1) {
    quiet(atoi(argv[1]));
    return 17;
  }
  char name[] = "quiet.XXXXXX", number[16];
  int data = mkstemp(name);
  CHECK(data >= 0, "mkstemp: %s", strerror(errno));
  unlink(name);
  CHECK(data == 3, "the first free descriptor is %d, not 3", data);
  snprintf(number, sizeof number, "%d", data);
  pid_t p = fork();
  CHECK(p >= 0, "fork");
  if (!p) {
    execl("/proc/self/exe", argv[0], number, (char *)0);
    _exit(98);
  }
  int st;
  waitpid(p, &st, 0);
  CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 17, "ended with 0x%x", st);
  struct stat s;
  CHECK(!fstat(data, &s) && s.st_size == 0, "%ld bytes were written at the end", (long)s.st_size);
  return 0;
}
