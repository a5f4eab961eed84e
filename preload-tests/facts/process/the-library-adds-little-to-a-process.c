// What preloading costs an idle process: less than 1 MiB of address space, every byte of which
// mlockall counts, and a quarter of a MiB of memory of its own.
// bare: skip it compares the process with itself started bare
#include "check.h"
static void say(void) { printf("%ld %ld\n", status_kb("VmSize"), status_kb("RssAnon")); }
static void measure(char *self, int bare, long *v) {
  int fd[2];
  char b[100] = "";
  CHECK(!pipe(fd), "pipe");
  pid_t p = fork();
  CHECK(p >= 0, "fork");
  if (!p) {
    dup2(fd[1], 1);
    close(fd[0]);
    close(fd[1]);
    if (bare) unsetenv("LD_PRELOAD");
    execl("/proc/self/exe", self, "measure", (char *)0);
    _exit(98);
  }
  close(fd[1]);
  child_ok(p, "the process measured");
  CHECK(read(fd[0], b, sizeof b - 1) > 0 && sscanf(b, "%ld %ld", v, v + 1) == 2, "what it said");
  close(fd[0]);
}
int main(int argc, char **argv) {
  long bare[2], here[2];
  if (argc > 1) {
    say();
    return 0;
  }
  measure(argv[0], 1, bare);
  measure(argv[0], 0, here);
  INFO("VmSize %ld kB bare, %ld kB here; RssAnon %ld kB and %ld kB", bare[0], here[0], bare[1], here[1]);
  CHECK(here[0] > bare[0], "the library is not there");
  CHECK(here[0] - bare[0] < 1024, "VmSize is %ld kB more", here[0] - bare[0]);
  CHECK(here[1] - bare[1] < 256, "RssAnon is %ld kB more", here[1] - bare[1]);
  return 0;
}
