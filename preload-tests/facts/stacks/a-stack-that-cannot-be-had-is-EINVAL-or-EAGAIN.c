// Stacks and guards too large for the address space or for its limit are refused with the very
// code glibc gives, which is never ENOMEM; the routine does not run, and nothing is lost.
// output: same
// env: MALLOC_ARENA_MAX=1
#include "check.h"
static volatile int ran;
static void *count(void *arg) {
  ran++;
  return arg;
}
static int try(size_t stack, size_t guard) {
  pthread_attr_t a;
  pthread_t t;
  pthread_attr_init(&a);
  int e = pthread_attr_setstacksize(&a, stack);
  if (e) return 1000 + e;
  e = pthread_attr_setguardsize(&a, guard);
  if (e) return 2000 + e;
  int before = ran;
  e = pthread_create(&t, &a, count, 0);
  CHECK(e != ENOMEM, "ENOMEM for %zu+%zu", stack, guard);
  if (e)
    CHECK(ran == before, "a refused thread ran");
  else
    finish(t);
  pthread_attr_destroy(&a);
  return e;
}
int main(void) {
  const size_t sizes[] = { 0,        1,         4096,      16383,        16384,         16385,        32768,
                           1UL << 40, 1UL << 46, 1UL << 47, 1UL << 62, SIZE_MAX / 2, SIZE_MAX - 4095, SIZE_MAX };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      // A thread of a terabyte may or may not be had: that is up to the machine.
      if (sizes[i] == 1UL << 40 || sizes[k] == 1UL << 40) continue;
      printf("%zu+%zu: %d\n", sizes[i], sizes[k], try(sizes[i], sizes[k]));
    }
  int maps = 0;
  long size = 0;
  set_limit(RLIMIT_AS, ((size_t)status_kb("VmSize") << 10) + (3 << 20));
  for (int i = 0; i < 300; i++) {
    int e = try(8 << 20, 4096), small = try(64 << 10, 4096);
    CHECK(e == EAGAIN, "8 MiB with 3 MiB of address space: %d", e);
    CHECK(small == 0, "64 KiB after a refusal: %d", small);
    e = try(64 << 10, 8 << 20);
    CHECK(e == EAGAIN, "a guard of 8 MiB with 3 MiB of address space: %d", e);
    if (i == 5) {
      maps = count_maps();
      size = status_kb("VmSize");
    }
  }
  CHECK(count_maps() - maps < 5 && status_kb("VmSize") - size < 512, "refusals left %d mappings and %ld kB",
        count_maps() - maps, status_kb("VmSize") - size);
  return 0;
}
