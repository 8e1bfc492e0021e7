#include "tune/worker_pool.hpp"

#include "log/log.hpp"
#include "tune/worker.hpp"

#include <system_error>
#include <thread>
#include <utility>

namespace gemwright::tune {
namespace {

constexpr auto kIdleTime = std::chrono::seconds(10);
constexpr std::size_t kMostIdle = 2;

}  // namespace

WorkerPool& WorkerPool::instance() {
  static auto* const pool = new WorkerPool;
  return *pool;
}

std::unique_ptr<WorkerProcess> WorkerPool::take() {
  const std::string program = worker_program();
  if (program.empty()) {
    static std::once_flag said;
    std::call_once(said, [] {
      log::warn("no worker program is found: candidates are validated in this process");
    });
    return nullptr;
  }
  {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      std::unique_ptr<WorkerProcess> worker = std::move(idle_.back().worker);
      idle_.pop_back();
      if (worker->ours()) return worker;
    }
  }
  return WorkerProcess::start(program);
}

void WorkerPool::give_back(std::unique_ptr<WorkerProcess> worker) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() >= kMostIdle) return;
  idle_.push_back({std::move(worker), Clock::now() + kIdleTime});
  if (expiring_) return;
  try {
    std::thread([this] { expire(); }).detach();
    expiring_ = true;
  } catch (const std::system_error&) {
    idle_.clear();  // nobody would end them
  }
}

void WorkerPool::expire() {
  std::unique_lock lock(mutex_);
  while (!idle_.empty()) {
    const Clock::time_point first = idle_.front().until;
    if (first <= Clock::now()) {
      idle_.erase(idle_.begin());
      continue;
    }
    lock.unlock();
    std::this_thread::sleep_until(first);
    lock.lock();
  }
  expiring_ = false;
}

}  // namespace gemwright::tune
