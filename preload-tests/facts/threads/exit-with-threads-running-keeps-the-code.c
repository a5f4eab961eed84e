// A process that exits, from main or from another thread, while threads allocate, create threads
// and hold locks ends at once with its code, having run its exit handlers once; _exit, quick_exit
// and exec too.
#include "check.h"
static int out[2];
static void bye(void) {
  free(malloc(5000));
  CHECK(write(out[1], "e", 1) == 1, "write");
}
static void quick_bye(void) { CHECK(write(out[1], "q", 1) == 1, "write"); }
static void *nothing(void *arg) { return arg; }
static void *busy(void *arg) {
  unsigned s = (unsigned)(long)arg + 1;
  for (;;) {
    void *p = malloc(1 + rnd(&s) % 100000);
    pthread_t t;
    if ((long)arg % 2 && !pthread_create(&t, 0, nothing, 0)) pthread_join(t, 0);
    free(p);
  }
  return 0;
}
static void *exiter(void *arg) {
  exit((int)(long)arg);
  return 0;
}
static void child(int how) {
  alarm(20);
  atexit(bye);
  at_quick_exit(quick_bye);
  for (long i = 0; i < 4; i++) start(0, busy, (void *)i);
  nap_ms(how % 3 * 2);
  switch (how % 5) {
    case 0: exit(40);
    case 1: start(0, exiter, (void *)41); pause();
    case 2: _exit(42);
    case 3: quick_exit(43);
    case 4: execl("/bin/sh", "sh", "-c", "exit 44", (char *)0);
  }
  _exit(99);
}
int main(void) {
  const char *want[] = { "e", "e", "", "q", "" };
  for (int i = 0; i < 60; i++) {
    char got[4] = "";
    int st, n = 0;
    CHECK(!pipe(out), "pipe");
    fcntl(out[1], F_SETFD, FD_CLOEXEC);
    pid_t p = fork();
    CHECK(p >= 0, "fork");
    if (!p) child(i);
    close(out[1]);
    waitpid(p, &st, 0);
    while (n < 3 && read(out[0], got + n, 1) == 1) n++;
    close(out[0]);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 40 + i % 5, "way %d ended with 0x%x", i % 5, st);
    CHECK(!strcmp(got, want[i % 5]), "way %d: handlers '%s'", i % 5, got);
  }
  return 0;
}
