// Scripts read malloc_stats and tools parse malloc_info: the lines and elements they look for are
// there, numbers make sense, bad options are refused, nothing else is written.
#include "check.h"
#include <malloc.h>
static char text[65536];
static void capture_stats(void) {
  char name[] = "stats.XXXXXX";
  int fd = mkstemp(name), err = dup(2);
  CHECK(fd >= 0 && err >= 0, "mkstemp: %s", strerror(errno));
  unlink(name);
  dup2(fd, 2);
  malloc_stats();
  fflush(stderr);
  dup2(err, 2);
  close(err);
  ssize_t n = pread(fd, text, sizeof text - 1, 0);
  close(fd);
  CHECK(n > 0, "malloc_stats wrote nothing");
  text[n] = 0;
}
static unsigned long number_after(const char *line, const char *from) {
  const char *p = strstr(from, line);
  CHECK(p, "no line '%s' in:\n%s", line, text);
  CHECK(p == text || p[-1] == '\n', "'%s' does not begin a line", line);
  unsigned long v = 0;
  CHECK(sscanf(p + strlen(line), " = %lu", &v) == 1, "no number after '%s'", line);
  return v;
}
int main(void) {
  void *keep = malloc(10 << 20), *small[500];
  for (int i = 0; i < 500; i++) small[i] = malloc(3000);
  capture_stats();
  CHECK(strstr(text, "Arena 0:\n"), "no 'Arena 0:' in:\n%s", text);
  number_after("system bytes    ", text);
  number_after("in use bytes    ", text);
  const char *total = strstr(text, "Total (incl. mmap):\n");
  CHECK(total, "no total in:\n%s", text);
  unsigned long system = number_after("system bytes    ", total), used = number_after("in use bytes    ", total);
  number_after("max mmap regions", total);
  number_after("max mmap bytes  ", total);
  CHECK(used >= (10 << 20) + 500 * 3000 && used < 20 << 20 && system >= used, "in use %lu of %lu", used, system);

  char *buf = 0;
  size_t len = 0;
  FILE *f = open_memstream(&buf, &len);
  int e = malloc_info(0, f);
  fclose(f);
  CHECK(!e && buf, "malloc_info: %d", e);
  CHECK(!strncmp(buf, "<malloc version=\"1\">\n", 21), "begins with '%.30s'", buf);
  CHECK(len > 10 && !strcmp(buf + len - 10, "</malloc>\n"), "ends with '%s'", buf + len - 10);
  const char *elements[] = { "<heap nr=\"0\">\n", "</heap>\n", "<total type=\"fast\" count=\"", "<total type=\"rest\" count=\"",
                             "<total type=\"mmap\" count=\"", "<system type=\"current\" size=\"", "<system type=\"max\" size=\"",
                             "<aspace type=\"total\" size=\"", "<aspace type=\"mprotect\" size=\"" };
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
    CHECK(strstr(buf, elements[i]), "no %s in:\n%s", elements[i], buf);
  int open = 0, lines = 0;
  for (char *p = buf; *p; p++) {
    if (*p == '<' && p[1] != '/') open++;
    if ((*p == '/' && p[1] == '>') || (*p == '<' && p[1] == '/')) open--;
    lines += *p == '\n';
  }
  CHECK(open == 0 && lines > 8, "%d elements stay open, %d lines", open, lines);
  free(buf);
  f = open_memstream(&buf, &len);
  e = malloc_info(1, f);
  fclose(f);
  CHECK(e == EINVAL && len == 0, "option 1: %d, %zu bytes", e, len);
  free(buf);
  for (int i = 0; i < 500; i++) free(small[i]);
  free(keep);
  return 0;
}
