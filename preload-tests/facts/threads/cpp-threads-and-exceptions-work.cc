// std::thread, std::async, condition variables, exceptions thrown, caught and carried between
// threads; an exception that leaves a thread ends the process by SIGABRT through terminate.
#include "check.h"
#include <condition_variable>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static int thrower(int n) {
  std::string s(100, 'x');
  if (n % 3 == 0) throw std::runtime_error(s + std::to_string(n));
  return n;
}
static void carried() {
  std::vector<std::future<int>> f;
  int sum = 0, thrown = 0;
  for (int i = 0; i < 60; i++) f.push_back(std::async(std::launch::async, thrower, i));
  for (auto &x : f) {
    try {
      sum += x.get();
    } catch (const std::runtime_error &e) {
      CHECK(std::string(e.what()).size() > 100, "text of the exception");
      ++thrown;
    }
  }
  CHECK(thrown == 20 && sum == 59 * 60 / 2 - 3 * (19 * 20 / 2), "%d thrown, sum %d", thrown, sum);
}
static void handed_on() {
  std::mutex m;
  std::condition_variable c;
  std::map<int, std::string> box;
  std::vector<std::thread> v;
  for (int i = 0; i < 6; i++)
    v.emplace_back([&, i] {
      for (int k = 0; k < 50; k++) {
        std::lock_guard<std::mutex> l(m);
        box[i * 50 + k] = std::to_string(k) + std::string(50, 'y');
        c.notify_one();
      }
    });
  size_t got = 0;
  while (got < 300) {
    std::unique_lock<std::mutex> l(m);
    c.wait(l, [&] { return !box.empty(); });
    got += box.size();
    box.clear();
  }
  for (auto &t : v) t.join();
}
int main() {
  for (int i = 0; i < 5; i++) {
    carried();
    handed_on();
  }
  pid_t p = fork();
  CHECK(p >= 0, "fork");
  if (!p) {
    close(2);
    std::thread t([] { thrower(0); });
    t.join();
    _exit(0);
  }
  int st;
  waitpid(p, &st, 0);
  CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGABRT, "an exception left a thread and the process ended with 0x%x", st);
  return 0;
}
