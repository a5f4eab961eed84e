// A guard of any size is whole pages, on top of the size asked for the stack; a guard of 0 is none.
// pthread_getattr_np says the same as glibc, and the kernel's view agrees with it.
// output: same
#include "check.h"
static const size_t guards[] = { 0, 1, 4095, 4096, 4097, 5000, 8192, 65535, 1 << 20, (1 << 20) + 1, 8 << 20 };
enum { N = sizeof guards / sizeof *guards };
static pthread_barrier_t in, out;
static struct stack s[N];
static void *stay(void *arg) {
  s[(long)arg] = stack_of(pthread_self());
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  return 0;
}
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&in, 0, N + 1);
  pthread_barrier_init(&out, 0, N + 1);
  for (long i = 0; i < N; i++) {
    pthread_attr_t a = attr_of(256 << 10, guards[i]);
    t[i] = start(&a, stay, (void *)i);
    size_t g = 1;
    CHECK(!pthread_attr_getguardsize(&a, &g) && g == guards[i], "the attribute changed");
  }
  pthread_barrier_wait(&in);
  for (int i = 0; i < N; i++) {
    size_t rounded = (guards[i] + 4095) & ~4095UL;
    CHECK(s[i].size == 256 << 10, "guard %zu: stack %zu", guards[i], s[i].size);
    for (size_t off = 4096; off <= rounded; off += 4096) {
      if (off > 8192 && off < rounded - 8192) continue;
      struct vma v = vma_at(s[i].lo - off);
      CHECK(v.hi && !strncmp(v.perm, "---", 3), "guard %zu: the page %zu below the stack is '%s'", guards[i], off,
            v.perm);
    }
    for (size_t off = 0; off < s[i].size; off += 4096) {
      struct vma v = vma_at(s[i].lo + off);
      CHECK(v.hi && !strncmp(v.perm, "rw-", 3), "guard %zu: page %zu of the stack is '%s'", guards[i], off, v.perm);
      off = v.hi - s[i].lo;
    }
    printf("%zu: %zu\n", guards[i], s[i].guard);
  }
  pthread_barrier_wait(&out);
  for (int i = 0; i < N; i++) finish(t[i]);
  return 0;
}
