// vfork and exec, posix_spawn, system and popen from several threads at once, while others use the
// heap: every program runs and its answer arrives; a vfork child leaves its parent unharmed.
#include "check.h"
#include <spawn.h>
extern char **environ;
static volatile int stop;
static void *busy(void *arg) {
  unsigned s = 5;
  while (!stop) free(malloc(1 + rnd(&s) % 30000));
  return arg;
}
static int code_of(pid_t p) {
  int st;
  CHECK(p > 0 && waitpid(p, &st, 0) == p, "waitpid");
  return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + st;
}
static void *starter(void *arg) {
  for (int i = 0; i < 6; i++) {
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit 21", 0 };
    pid_t p = vfork();
    if (!p) {
      execv("/bin/sh", argv);
      _exit(99);
    }
    CHECK(code_of(p) == 21, "vfork and exec");
    p = vfork();
    if (!p) _exit(22);
    CHECK(code_of(p) == 22, "vfork and _exit");
    CHECK(!posix_spawn(&p, "/bin/sh", 0, 0, argv, environ), "posix_spawn");
    CHECK(code_of(p) == 21, "posix_spawn");
    int st = system("exit 23");
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 23, "system: 0x%x", st);
    FILE *f = popen("echo answer; exit 24", "r");
    char line[64] = "";
    CHECK(f && fgets(line, sizeof line, f) && !strcmp(line, "answer\n"), "popen: '%s'", line);
    st = pclose(f);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 24, "pclose: 0x%x", st);
    free(strdup(line));
  }
  return arg;
}
int main(void) {
  pthread_t t[3], b[2];
  for (int i = 0; i < 2; i++) b[i] = start(0, busy, 0);
  for (int i = 0; i < 3; i++) t[i] = start(0, starter, 0);
  for (int i = 0; i < 3; i++) finish(t[i]);
  stop = 1;
  for (int i = 0; i < 2; i++) finish(b[i]);
  return 0;
}
