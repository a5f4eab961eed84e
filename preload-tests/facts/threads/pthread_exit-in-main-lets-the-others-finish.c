// When main leaves by pthread_exit, the process goes on until its last thread has ended, then exits
// with 0 and runs its exit handlers; exit codes of threads that call exit are kept.
// constructor: skip leaving the main thread inside the loader would unwind through frames that glibc does not support
#include "check.h"
static int out[2];
static void say(char c) { CHECK(write(out[1], &c, 1) == 1, "write"); }
static void bye(void) { say('e'); }
static void *slow(void *arg) {
  nap_ms(20);
  char *p = malloc(1000);
  CHECK(p, "malloc");
  free(p);
  finish(start(0, (void *(*)(void *))(uintptr_t)(void *(*)(void *))malloc, (void *)10));
  say('t');
  if (arg) exit((int)(long)arg);
  return 0;
}
static int run(int code, char *got) {
  CHECK(!pipe(out), "pipe");
  pid_t p = fork();
  CHECK(p >= 0, "fork");
  if (!p) {
    alarm(20);
    atexit(bye);
    for (int i = 0; i < 3; i++) CHECK(!pthread_detach(start(0, slow, 0)), "detach");
    if (code) {
      nap_ms(60);
      start(0, slow, (void *)(long)code);
    }
    pthread_exit((void *)9);
  }
  close(out[1]);
  int st, n = 0;
  waitpid(p, &st, 0);
  while (n < 15 && read(out[0], got + n, 1) == 1) n++;
  got[n] = 0;
  close(out[0]);
  return st;
}
int main(void) {
  char got[16];
  for (int i = 0; i < 10; i++) {
    int st = run(0, got);
    CHECK(st == 0, "status 0x%x", st);
    CHECK(!strcmp(got, "ttte"), "order of events '%s'", got);
    st = run(7, got);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 7, "status 0x%x", st);
    CHECK(!strcmp(got, "tttte"), "order of events '%s'", got);
  }
  return 0;
}
