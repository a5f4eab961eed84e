// A program that frees what is not a block's start, or frees twice, ends by SIGABRT after exactly one
// line on standard error that begins with "libfix: " (of a pointer into a stack libc's own line); in main and in other threads alike.
// bare: skip glibc words it otherwise, and finds fewer
#include "check.h"
#include <malloc.h>
static char *volatile p, *volatile q[300];
static char in_program[256] __attribute__((aligned(64)));
static void *free_it(void *v) {
  free(v);
  return v;
}
static void *make(void *v) { return malloc((size_t)v); }
static void *keep_away(size_t n) {
  for (int i = 0; i < 300; i++) q[i] = malloc(n);
  return q[150];
}
static void inner(size_t n, size_t off) { free((char *)keep_away(n) + off); }
static void inner_small(void) { inner(100, 16); }
static void inner_small_odd(void) { inner(100, 1); }
static void inner_medium(void) { inner(3000, 1024); }
static void inner_page(void) { inner(40000, 4096); }
static void inner_large(void) { inner(300000, 65536); }
static void inner_huge(void) { p = malloc(60 << 20); free(p + (4 << 20)); }
static void inner_aligned(void) { p = memalign(4096, 20000); free(p + 4096); }
static void before_start(void) { free((char *)keep_away(200) - 16); }
static void twice(size_t n) { p = malloc(n); free(p); free(p); }
static void twice_small(void) { twice(40); }
static void twice_medium(void) { twice(5000); }
static void twice_large(void) { twice(400000); }
static void twice_huge(void) { twice(80 << 20); }
static void twice_after_others(void) {
  keep_away(64);
  p = q[7];
  for (int i = 0; i < 200; i++) free(q[i]);
  free(p);
}
static void twice_with_one_between(void) { p = keep_away(64); free(p); free(q[3]); free(p); }
static void twice_by_another(void) { p = malloc(64); free(p); finish(start(0, free_it, p)); }
static void twice_after_another(void) { p = malloc(64); finish(start(0, free_it, p)); free(p); }
static void twice_by_two_others(void) {
  p = finish(start(0, make, (void *)200));
  finish(start(0, free_it, p));
  finish(start(0, free_it, p));
}
static void twice_foreign_block(void) { p = finish(start(0, make, (void *)64)); free(p); free(p); }
static void *in_thread(void *v) { twice_small(); return v; }
static void twice_in_thread(void) { finish(start(0, in_thread, 0)); }
static void realloc_of_freed(void) { p = keep_away(64); free(p); p = realloc(p, 1000); }
static void realloc_of_inner(void) { p = keep_away(640); p = realloc(p + 64, 1000); }
static void of_stack(void) { char b[256] __attribute__((aligned(64))); char *volatile v = b; free(v + 64); }
static void of_program(void) { char *volatile v = in_program; free(v + 64); }
static void of_code(void) { free((void *)((uintptr_t)&of_program & ~15UL)); }
static void of_small_number(void) { char *volatile v = (char *)0x10; free(v); }
static void of_nowhere(void) { char *volatile v = (char *)0x123456789ab0; free(v); }
static void of_kernel(void) { char *volatile v = (char *)0xffff800000001000; free(v); }
static void of_noncanonical(void) { char *volatile v = (char *)0x4141414141414140; free(v); }
static const struct {
  const char *what;
  void (*run)(void);
} errors[] = {
#define E(f) { #f, f }
  E(inner_small), E(inner_small_odd), E(inner_medium), E(inner_page), E(inner_large), E(inner_huge), E(inner_aligned),
  E(before_start), E(twice_small), E(twice_medium), E(twice_large), E(twice_huge), E(twice_after_others),
  E(twice_with_one_between), E(twice_by_another), E(twice_after_another), E(twice_by_two_others), E(twice_foreign_block),
  E(twice_in_thread), E(realloc_of_freed), E(realloc_of_inner), E(of_stack), E(of_program), E(of_code), E(of_small_number),
  E(of_nowhere), E(of_kernel), E(of_noncanonical),
};
int main(void) {
  int bad = 0;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    int fd[2], st;
    char text[2000];
    ssize_t n, have = 0;
    CHECK(!pipe(fd), "pipe");
    pid_t c = fork();
    CHECK(c >= 0, "fork");
    if (!c) {
      alarm(20);
      dup2(fd[1], 2);
      close(fd[0]);
      close(fd[1]);
      errors[i].run();
      _exit(0);
    }
    close(fd[1]);
    while ((n = read(fd[0], text + have, sizeof text - 1 - (size_t)have)) > 0) have += n;
    text[have] = 0;
    close(fd[0]);
    waitpid(c, &st, 0);
    int lines = 0;
    for (char *s = text; *s; s++) lines += *s == '\n';
    // Memory that is mapped, but not ours, may be libc's own heap: libc looks, and says it its way.
    int libcs = errors[i].run == of_stack && !strncmp(text, "free(): invalid ", 16);
    if (!(WIFSIGNALED(st) && WTERMSIG(st) == SIGABRT && lines == 1 && (libcs || !strncmp(text, "libfix: ", 8)))) {
      dprintf(2, "%s: status 0x%x, %d lines: %s\n", errors[i].what, st, lines, text);
      bad++;
    }
  }
  CHECK(!bad, "%d kinds of error", bad);
  return 0;
}
