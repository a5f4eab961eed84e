// Memory of freed large blocks does not stay for ever: after 200 MiB were used and freed, by main or
// by threads that ended, VmRSS is near where it was.
#include "check.h"
#include <malloc.h>
static void *use(void *arg) {
  size_t n = (size_t)arg;
  char *p = malloc(n);
  CHECK(p, "malloc");
  memset(p, 1, n);
  p = realloc(p, n + n / 2);
  CHECK(p && p[n - 1] == 1, "realloc");
  memset(p + n, 2, n / 2);
  free(p);
  return 0;
}
int main(void) {
  use((void *)1000L);
  long rss = status_kb("VmRSS");
  use((void *)(150L << 20));
  CHECK(status_kb("VmRSS") - rss < 40 << 10, "%ld kB stay", status_kb("VmRSS") - rss);
  for (int i = 0; i < 4; i++) finish(start(0, use, (void *)(40L << 20)));
  CHECK(status_kb("VmRSS") - rss < 40 << 10, "%ld kB stay after threads", status_kb("VmRSS") - rss);
  return 0;
}
