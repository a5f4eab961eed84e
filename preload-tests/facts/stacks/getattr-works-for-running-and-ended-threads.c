// pthread_getattr_np tells others about a thread what the thread sees itself, while it runs and
// when it has ended without being joined; of the main thread it tells the main stack.
#include "check.h"
static struct stack own;
static pthread_barrier_t in, out;
static void *stay(void *arg) {
  own = stack_of(pthread_self());
  pthread_barrier_wait(&in);
  pthread_barrier_wait(&out);
  return arg;
}
static void same(struct stack a, struct stack b, const char *what) {
  CHECK(a.lo == b.lo && a.size == b.size && a.guard == b.guard, "%s: %lx+%zu guard %zu, itself %lx+%zu guard %zu", what,
        a.lo, a.size, a.guard, b.lo, b.size, b.guard);
}
static struct stack main_seen;
static void *look_at(void *t) {
  main_seen = stack_of(*(pthread_t *)t);
  return 0;
}
int main(void) {
  const size_t sizes[] = { 64 << 10, 1 << 20, 8 << 20 }, guards[] = { 0, 4096, 1 << 20 };
  pthread_barrier_init(&in, 0, 2);
  pthread_barrier_init(&out, 0, 2);
  for (int i = 0; i < 9; i++) {
    pthread_attr_t a = attr_of(sizes[i % 3], guards[i / 3]);
    pthread_t t = start(&a, stay, 0);
    pthread_barrier_wait(&in);
    CHECK(own.guard == guards[i / 3], "guard %zu, asked %zu", own.guard, guards[i / 3]);
    CHECK(own.size >= sizes[i % 3], "stack %zu, asked %zu", own.size, sizes[i % 3]);
    same(stack_of(t), own, "running");
    pthread_barrier_wait(&out);
    nap_ms(5);
    CHECK(SETTLES(2000, count_tasks() == 1), "the thread does not end");
    same(stack_of(t), own, "ended");
    finish(t);
    pthread_attr_destroy(&a);
  }
  struct stack m = stack_of(pthread_self());
  char here;
  CHECK((uintptr_t)&here > m.lo && (uintptr_t)&here < m.hi, "main's frame is outside of its stack");
  CHECK(m.hi - (uintptr_t)&here < 1 << 20, "main's stack ends %lu kB above its frame", (m.hi - (uintptr_t)&here) >> 10);
  struct rlimit r;
  getrlimit(RLIMIT_STACK, &r);
  if (r.rlim_cur != RLIM_INFINITY)
    CHECK(m.size <= r.rlim_cur && m.size + (1 << 20) >= r.rlim_cur, "main's stack is %zu, the limit %lu", m.size,
          (unsigned long)r.rlim_cur);
  pthread_t self = pthread_self();
  finish(start(0, look_at, &self));
  same(main_seen, m, "main seen by another");
  return 0;
}
