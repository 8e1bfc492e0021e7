// Workers that wait for the next problem.
#pragma once

#include "tune/worker_process.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace gemwright::tune {

/// Keeps idle workers for a few seconds, so that a list of problems needs one start, and a program
/// that tuned once keeps nothing. Safe from several threads.
class WorkerPool {
 public:
  /// The process's pool. Never destroyed: workers end by themselves when the process does.
  static WorkerPool& instance();

  /// An idle worker, else a fresh one of worker_program(); null when there is none to be had.
  std::unique_ptr<WorkerProcess> take();
  void give_back(std::unique_ptr<WorkerProcess> worker);

 private:
  using Clock = std::chrono::steady_clock;
  struct Idle {
    std::unique_ptr<WorkerProcess> worker;
    Clock::time_point until;
  };
  void expire();

  std::mutex mutex_;
  std::vector<Idle> idle_;
  bool expiring_ = false;
};

}  // namespace gemwright::tune
