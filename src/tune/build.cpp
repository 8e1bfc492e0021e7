#include "tune/build.hpp"

#include "device/cpu/helpers.hpp"
#include "tune/stopwatch.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace gemwright::tune {
namespace {

Built build(const Problem& problem, const Device& device, const Candidate& candidate) {
  try {
    return {candidate.family->build(problem, device, candidate.configuration), {}, false};
  } catch (const OutOfMemory& error) {
    return {nullptr, error.what(), true};
  } catch (const std::bad_alloc&) {
    return {nullptr, "out of memory", true};
  } catch (const std::exception& error) {
    return {nullptr, error.what(), false};
  }
}

}  // namespace

void build_each(const Problem& problem, const Device& device,
                std::span<const Candidate* const> candidates, const std::function<bool()>& stop,
                const std::function<void(std::size_t, Built)>& on_built) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < candidates.size(); i = next++) {
      if (i > 0 && stop()) return;
      const Stopwatch spent;
      Built built = build(problem, device, *candidates[i]);
      built.seconds = spent.seconds();
      const std::lock_guard lock(mutex);
      on_built(i, std::move(built));
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = std::min(cores, std::max<std::size_t>(candidates.size(), 1)) - 1;
  auto helpers = cpu::start_helpers(wanted, work);
  work();
}

std::vector<Built> build_all(const Problem& problem, const Device& device,
                             std::span<const Candidate* const> candidates) {
  std::vector<Built> all(candidates.size());
  build_each(
      problem, device, candidates, [] { return false; },
      [&](std::size_t i, Built built) { all[i] = std::move(built); });
  return all;
}

}  // namespace gemwright::tune
