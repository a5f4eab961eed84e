// Locals, thread_local objects and what is passed through std::thread are destroyed exactly once
// whether a thread returns, calls pthread_exit deep down, or is cancelled; catch (...) blocks that
// rethrow are passed on the way.
#include "check.h"
#include <atomic>
#include <memory>
#include <string>
#include <vector>
static std::atomic<int> alive{0}, made{0}, caught{0};
struct Counted {
  std::string text;
  std::unique_ptr<char[]> more;
  explicit Counted(const char *s) : text(std::string(s) + " with a text too long to be stored in place"), more(new char[5000]) {
    ++alive;
    ++made;
  }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
  ~Counted() {
    CHECK(text.size() > 20, "destroyed twice");
    text.clear();
    --alive;
  }
};
static thread_local Counted per_thread("thread_local");
static thread_local std::vector<Counted *> owned;
struct Sweeper {
  ~Sweeper() {
    for (auto *c : owned) delete c;
    owned.clear();
  }
};
static thread_local Sweeper sweeper;
static volatile bool ready;

static void deep(int n, int how) {
  Counted c("deep");
  if (n) {
    try {
      deep(n - 1, how);
    } catch (...) {
      ++caught;
      throw;
    }
    return;
  }
  if (how == 1) pthread_exit((void *)2);
  if (how == 2)
    for (ready = true;;) pause();
}
static void *body(void *v) {
  int how = (int)(long)v;
  (void)&sweeper;
  Counted a("first");
  per_thread.text += "used";
  for (int i = 0; i < 5; i++) owned.push_back(new Counted("owned"));
  deep(8, how);
  return (void *)1;
}
int main() {
  for (int i = 0; i < 150; i++) {
    long how = i % 3;
    ready = false;
    caught = 0;
    int before = made;
    pthread_attr_t a = attr_of(i % 2 ? 128 << 10 : 4 << 20, 4096);
    pthread_t t = start(&a, body, (void *)how);
    if (how == 2) {
      while (!ready) sched_yield();
      CHECK(!pthread_cancel(t), "cancel");
    }
    void *r = finish(t);
    CHECK(r == (how == 0 ? (void *)1 : how == 1 ? (void *)2 : PTHREAD_CANCELED), "way %ld: result %p", how, r);
    CHECK(made - before == 16, "way %ld: %d objects made", how, made - before);
    CHECK(alive == 0, "way %ld: %d objects were not destroyed", how, (int)alive);
    CHECK(caught == (how ? 8 : 0), "way %ld: %d catch blocks passed", how, (int)caught);
    pthread_attr_destroy(&a);
  }
  return 0;
}
