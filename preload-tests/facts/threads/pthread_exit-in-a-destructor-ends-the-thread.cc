// pthread_exit called from a key's destructor or from the destructor of a local object ends the
// thread with the last value given; locals left to destroy are destroyed, and so are keys' values
// set since.
#include "check.h"
static pthread_key_t key, second;
static int key_calls, second_calls, locals;

static void on_key(void *v) {
  ++key_calls;
  pthread_setspecific(second, v);
  pthread_exit((void *)0x200);
}
static void on_second(void *) { ++second_calls; }
static void *by_key(void *) {
  pthread_setspecific(key, (void *)1);
  return (void *)0x100;
}
static void *by_key_exiting(void *) {
  pthread_setspecific(key, (void *)1);
  pthread_exit((void *)0x101);
}

struct Counted {
  ~Counted() { ++locals; }
};
struct Exits {
  ~Exits() noexcept(false) { pthread_exit((void *)0x300); }
};
static void *by_object(void *) {
  Counted a;
  {
    Counted b;
    Exits e;
  }
  return (void *)0x100;
}
int main() {
  pthread_key_create(&key, on_key);
  pthread_key_create(&second, on_second);
  for (int i = 0; i < 300; i++) {
    key_calls = second_calls = locals = 0;
    void *r = finish(start(nullptr, i % 2 ? by_key : by_key_exiting, nullptr));
    CHECK(r == (void *)0x200, "from a key's destructor: %p", r);
    CHECK(key_calls == 1 && second_calls == 1, "destructors ran %d and %d times", key_calls, second_calls);
    r = finish(start(nullptr, by_object, nullptr));
    CHECK(r == (void *)0x300 && locals == 2, "from an object's destructor: %p, %d others destroyed", r, locals);
    pthread_attr_t a = attr_of(64 << 10, 4096);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    start(&a, by_object, nullptr);
    CHECK(SETTLES(3000, count_tasks() == 1), "a detached one does not end");
    pthread_attr_destroy(&a);
  }
  return 0;
}
