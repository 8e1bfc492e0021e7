// A small pool of pinned threads for parallel regions of a few microseconds and more.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace gemwright::cpu {

/// Runs tasks on the calling thread and on workers, each pinned to a core of its own. Workers spin
/// briefly for the next region, then sleep. Tasks are claimed one by one, so that a worker that the
/// system has put aside delays nobody. Safe from many threads: a region that finds the pool in use
/// runs wholly in its caller. Usable in the child of a fork.
class ThreadPool {
 public:
  /// The process's pool: one core per thread, those that this process may run on.
  static ThreadPool& global();

  /// A pool over the given logical CPUs, one a core.
  explicit ThreadPool(std::vector<int> cpus);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int cores() const { return static_cast<int>(workers_.size()); }

  /// Starts the workers that regions of so many threads need, unless they are there; fewer where
  /// the system refuses, and regions then run on those and the caller. run() does it too; called
  /// ahead, no run has to.
  void reserve(int threads);

  /// Calls task(index, participant) once for every index in [0, tasks), on at most `threads`
  /// threads (participants are numbered from 0, the caller), and returns when all have returned.
  /// Tasks must not throw.
  template <typename Task>
  void run(int tasks, int threads, Task&& task) {
    using Type = std::remove_reference_t<Task>;
    run_raw(
        tasks, threads,
        [](void* context, int index, int participant) {
          (*static_cast<Type*>(context))(index, participant);
        },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  using RawTask = void (*)(void* context, int index, int participant);

  struct alignas(64) Worker {
    int cpu = 0;
    std::thread thread;
    // Region to take part in, and as which participant: region << 8 | participant.
    std::atomic<std::uint32_t> call{0};
  };

  void run_raw(int tasks, int threads, RawTask task, void* context);
  void call_workers(std::uint32_t region, int count);
  void work(Worker& worker);
  void take_part(std::uint32_t region, int participant);

  std::vector<std::unique_ptr<Worker>> workers_;  // one a core; the caller's core is left out
  std::atomic<int> started_{0};
  std::atomic<int> most_{std::numeric_limits<int>::max()};  // that the system lets start
  std::mutex starting_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> busy_{false};

  // The region in progress. Whoever holds a claim on one of its tasks may read task_ and context_:
  // they change only after all claims were given back.
  RawTask task_ = nullptr;
  void* context_ = nullptr;
  std::uint32_t region_ = 0;
  alignas(64) std::atomic<std::uint64_t> unclaimed_{0};  // region << 32 | tasks left to claim
  alignas(64) std::atomic<int> unfinished_{0};
};

}  // namespace gemwright::cpu
