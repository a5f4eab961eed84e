// limits: -v 4000000
// A thread that is held up inside pthread_detach of an ended one, after libc has noted the detach,
// finds the ended thread's stack still there, whatever others create and join meanwhile.
#include "check.h"
#include <ucontext.h>
#if !defined __x86_64__
int main(void) { SKIP("the trap flag that finds the moment is x86's"); }
#else
static uintptr_t libc_lo, libc_hi, last;
static volatile int inside, held, done;
// After each instruction: one compare-and-exchange by libc notes the detach.
static void step(int s, siginfo_t *i, void *context) {
  (void)s, (void)i;
  const unsigned char *code = (const unsigned char *)last;
  last = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  if (!inside || held || (uintptr_t)code < libc_lo || (uintptr_t)code >= libc_hi) return;
  if (memcmp(code, "\xf0\x48\x0f\xb1", 4)) return;
  held = 1;
  nap_ms(2500);
}
static void *quick(void *arg) { return arg; }
static void *detacher(void *thread) {
  inside = 1;
  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  int e = pthread_detach(*(pthread_t *)thread);
  __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  inside = 0;
  done = 1;
  return (void *)(long)e;
}
int main(void) {
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps, "maps");
  while (fgets(line, sizeof line, maps))
    if (strstr(line, "r-xp") && strstr(line, "libc.so.6")) CHECK(sscanf(line, "%lx-%lx", &libc_lo, &libc_hi) == 2, "%s", line);
  fclose(maps);
  struct sigaction on_step = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };
  CHECK(!sigaction(SIGTRAP, &on_step, NULL), "sigaction");
  pthread_attr_t large = attr_of(64 << 20, 4096);
  finish(start(0, quick, 0));
  pthread_t ended = start(&large, quick, 0);
  nap_ms(100);
  pthread_t t = start(0, detacher, &ended);
  while (!done) {
    finish(start(0, quick, 0));
    nap_ms(1);
  }
  CHECK(finish(t) == 0, "pthread_detach");
  if (!held) SKIP("libc notes a detach by another instruction");
  return 0;
}
#endif
