// operator new in all its forms gives blocks of this heap: aligned as asked, deleted by every form of
// delete; too large a request throws bad_alloc or gives null, and the program goes on.
#include "check.h"
#include <malloc.h>
#include <new>
#include <string>
#include <vector>
struct alignas(256) Wide {
  char b[300];
};
static volatile size_t most = PTRDIFF_MAX;
static void *body(void *arg) {
  for (int i = 0; i < 300; i++) {
    std::vector<std::string> v;
    for (int k = 0; k < 50; k++) v.push_back(std::string(static_cast<size_t>(k * i % 700), 'x'));
    CHECK(v[49].size() == static_cast<size_t>(49 * i % 700), "size");
    Wide *w = new Wide[3];
    CHECK(reinterpret_cast<uintptr_t>(w) % 256 == 0, "alignment of %p", static_cast<void *>(w));
    delete[] w;
    auto *p = static_cast<char *>(::operator new(static_cast<size_t>(i + 1)));
    CHECK(reinterpret_cast<uintptr_t>(p) % 16 == 0 && malloc_usable_size(p) >= static_cast<size_t>(i + 1), "usable");
    ::operator delete(p, static_cast<size_t>(i + 1));
    p = static_cast<char *>(::operator new(5000, std::align_val_t(4096)));
    CHECK(reinterpret_cast<uintptr_t>(p) % 4096 == 0, "alignment of %p", static_cast<void *>(p));
    ::operator delete(p, 5000, std::align_val_t(4096));
    ::operator delete(::operator new(0));
    bool thrown = false;
    try {
      p = static_cast<char *>(::operator new(most - 100));
    } catch (const std::bad_alloc &) {
      thrown = true;
    }
    CHECK(thrown, "no bad_alloc");
    CHECK(!::operator new(most - 100, std::nothrow), "nothrow gave a block");
  }
  return arg;
}
int main() {
  pthread_t t[3];
  for (auto &h : t) h = start(nullptr, body, nullptr);
  body(nullptr);
  for (auto &h : t) finish(h);
  return 0;
}
