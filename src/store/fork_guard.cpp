#include "store/fork_guard.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include <pthread.h>

namespace gemwright::store {

struct ForkGuards {
  std::mutex mutex;
  std::vector<ForkGuard*> members;

  static ForkGuards& all() {
    // Never destroyed: a process may fork while it exits.
    static ForkGuards* const guards = [] {
      auto* made = new ForkGuards;
      pthread_atfork(before, after, after);
      return made;
    }();
    return *guards;
  }

  static void before() {
    all().mutex.lock();
    for (ForkGuard* member : all().members) member->before_fork();
  }

  static void after() {
    for (ForkGuard* member : all().members) member->after_fork();
    all().mutex.unlock();
  }
};

ForkGuard::ForkGuard() {
  auto& guards = ForkGuards::all();
  const std::lock_guard lock(guards.mutex);
  guards.members.push_back(this);
}

void ForkGuard::leave_fork_guard() {
  auto& guards = ForkGuards::all();
  const std::lock_guard lock(guards.mutex);
  std::erase(guards.members, this);
}

}  // namespace gemwright::store
