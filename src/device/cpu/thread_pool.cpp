#include "device/cpu/thread_pool.hpp"

#include "device/cpu/topology.hpp"
#include "log/log.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include <pthread.h>
#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gemwright::cpu {
namespace {

// Longer than the gap between two layers of a model, shorter than a scheduler's tick.
constexpr std::chrono::microseconds kSpin{20};
// Participant numbers are 8 bits of a worker's call.
constexpr int kMostCores = 256;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Waits for `done` for at most kSpin.
template <typename Done>
bool spin(Done done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  // Where it is refused the thread runs unpinned.
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

std::atomic<ThreadPool*> process_pool{nullptr};

// Threads do not survive a fork: the child begins with a pool of its own.
void after_fork() {
  process_pool.store(new ThreadPool(one_cpu_per_core(allowed_cpus())));
}

}  // namespace

ThreadPool& ThreadPool::global() {
  static const bool made = [] {
    after_fork();
    pthread_atfork(nullptr, nullptr, &after_fork);
    return true;
  }();
  static_cast<void>(made);
  return *process_pool.load(std::memory_order_acquire);
}

ThreadPool::ThreadPool(std::vector<int> cpus) {
  if (cpus.size() > kMostCores) cpus.resize(kMostCores);
  for (const int cpu : cpus) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->cpu = cpu;
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  for (const auto& worker : workers_) {
    if (!worker->thread.joinable()) continue;
    worker->call.fetch_add(1U << 8);
    worker->call.notify_one();
    worker->thread.join();
  }
}

void ThreadPool::reserve(int threads) {
  // One more than the helpers of a region, since the caller may run on any of their cores.
  const int needed = threads > 1 ? std::min({threads, cores(), most_.load()}) : 0;
  if (started_.load(std::memory_order_acquire) >= needed) return;
  const std::lock_guard lock(starting_);
  for (int i = started_.load(); i < needed; ++i) {
    Worker& worker = *workers_[static_cast<std::size_t>(i)];
    try {
      worker.thread = std::thread([this, &worker] { work(worker); });
    } catch (const std::system_error& error) {
      log::warn("only {} of {} threads could be started: {}", i, needed, error.what());
      most_.store(i);
      return;
    }
    started_.store(i + 1, std::memory_order_release);
  }
}

void ThreadPool::run_raw(int tasks, int threads, RawTask task, void* context) {
  threads = std::min({threads, tasks, cores()});
  if (threads > 1) reserve(threads);
  if (threads <= 1 || busy_.exchange(true, std::memory_order_acquire)) {
    for (int index = 0; index < tasks; ++index) task(context, index, 0);
    return;
  }
  task_ = task;
  context_ = context;
  const std::uint32_t region = ++region_ & 0xFFFFFFU;
  unfinished_.store(tasks, std::memory_order_relaxed);
  unclaimed_.store(static_cast<std::uint64_t>(region) << 32 | static_cast<std::uint32_t>(tasks),
                   std::memory_order_release);
  call_workers(region, threads - 1);
  take_part(region, 0);
  const auto finished = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
  while (!spin(finished)) {
    const int left = unfinished_.load(std::memory_order_acquire);
    if (left != 0) unfinished_.wait(left, std::memory_order_acquire);
  }
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::call_workers(std::uint32_t region, int count) {
  const int here = sched_getcpu();
  const int started = started_.load(std::memory_order_acquire);
  int participant = 1;
  for (int i = 0; i < started && participant <= count; ++i) {
    Worker& worker = *workers_[static_cast<std::size_t>(i)];
    // With the caller on its core it would only take turns with it; one spare is there for that.
    if (worker.cpu == here && started - i > count - participant + 1) continue;
    worker.call.store(region << 8 | static_cast<std::uint32_t>(participant),
                      std::memory_order_release);
    worker.call.notify_one();
    ++participant;
  }
}

void ThreadPool::work(Worker& worker) {
  pin(worker.cpu);
  std::uint32_t last = 0;
  while (true) {
    const auto called = [&] { return worker.call.load(std::memory_order_acquire) != last; };
    while (!spin(called)) worker.call.wait(last, std::memory_order_acquire);
    last = worker.call.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) return;
    take_part(last >> 8, static_cast<int>(last & 0xFFU));
  }
}

void ThreadPool::take_part(std::uint32_t region, int participant) {
  std::uint64_t seen = unclaimed_.load(std::memory_order_acquire);
  while (true) {
    const auto left = static_cast<std::uint32_t>(seen);
    if (seen >> 32 != region || left == 0) return;
    if (!unclaimed_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
      continue;
    }
    task_(context_, static_cast<int>(left) - 1, participant);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
    seen = unclaimed_.load(std::memory_order_acquire);
  }
}

}  // namespace gemwright::cpu
