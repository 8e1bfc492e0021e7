#include "tune/measure.hpp"

#include "log/log.hpp"
#include "model/rank.hpp"
#include "tune/cpu_load.hpp"
#include "tune/stopwatch.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/ranges.h>

namespace gemwright::tune {
namespace {

// How a kind of device is timed.
struct Sampling {
  double warm_up_s;  // until clocks are where they stay
  double sample_s;   // long against the timer's resolution and against what interrupts take
  int probe_runs;
  int most_runs;
  // A visit takes the second least of so many samples, where one takes no longer than again_s: what
  // others do for a millisecond or two then spoils few visits.
  int again;
  double again_s;
  // Between kernels of two families on a CPU: idle threads of OpenMP spin for up to 15 ms (libgomp
  // on cores with a slow pause instruction) and would take a core from the next kernel's.
  std::chrono::milliseconds settle;
};

Sampling sampling_of(DeviceKind kind) {
  if (kind == DeviceKind::cuda) {
    return {.warm_up_s = 0.1,
            .sample_s = 0.00075,
            .probe_runs = 8,
            .most_runs = 512,
            .again = 1,
            .again_s = 0,
            .settle = {}};
  }
  return {.warm_up_s = 0.05,
          .sample_s = 0.0015,
          .probe_runs = 1,
          .most_runs = 100'000,
          .again = 4,
          .again_s = 0.005,
          .settle = std::chrono::milliseconds(20)};
}

// Fewer copies when memory is short: warm weights are better than no measurement.
std::unique_ptr<Testbed> testbed_within_memory(const Problem& problem, const Device& device,
                                               const Scene& scene) {
  for (const int copies : {0, 1}) {
    try {
      return make_testbed(problem, device, {.copies = copies, .scene = scene});
    } catch (const OutOfMemory& error) {
      log::warn("measuring with {} of the weights: {}", copies == 0 ? "copies" : "one copy",
                error.what());
    } catch (const std::bad_alloc&) {
      log::warn("measuring with {} of the weights: out of memory",
                copies == 0 ? "copies" : "one copy");
    }
  }
  return nullptr;
}

class Sampler {
 public:
  // `least_s`: what a run takes at least.
  Sampler(Testbed& testbed, std::vector<Timed>& kernels, const Sampling& sampling, double least_s)
      : testbed_(testbed), kernels_(kernels), sampling_(sampling), prepared_(kernels.size()) {
    sampling_.probe_runs = std::min(sampling_.probe_runs, runs_for(least_s));
  }

  // Runs everybody in turn until the device is warm; this also tells how long each takes.
  void warm_up(const std::function<bool()>& stop) {
    const Stopwatch spent;
    do {
      for (std::size_t i = 0; i < kernels_.size() && !stop(); ++i) {
        const auto seconds = guarded(i, [&] {
          if (!prepared_[i].rotation) prepare(i, sampling_.probe_runs);
          return prepared_[i].rotation->seconds();
        });
        if (!seconds) continue;
        Prepared& prepared = prepared_[i];
        prepared.run_s = std::min(prepared.run_s, *seconds / sampling_.probe_runs);
      }
    } while (spent.seconds() < sampling_.warm_up_s && !stop());
    for (Prepared& prepared : prepared_) prepared.rotation.reset();
  }

  std::optional<SampleTime> operator()(std::size_t i) {
    const Stopwatch spent;
    Prepared& prepared = prepared_[i];
    const auto seconds = guarded(i, [&] {
      if (!prepared.rotation) prepare(i, runs_for(prepared.run_s));
      settle(i);
      return sample(*prepared.rotation);
    });
    if (!seconds) return std::nullopt;
    return SampleTime{*seconds / prepared.runs * 1e6, spent.seconds()};
  }

 private:
  struct Prepared {
    std::unique_ptr<Rotation> rotation;
    int runs = 0;
    double run_s = 1e9;
  };

  double sample(Rotation& rotation) const {
    std::vector<double> seconds = {rotation.seconds()};
    const auto wanted = static_cast<std::size_t>(sampling_.again);
    while (seconds.size() < wanted && seconds.front() <= sampling_.again_s) {
      seconds.push_back(rotation.seconds());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[std::min<std::size_t>(1, seconds.size() - 1)];
  }

  int runs_for(double run_s) const {
    const double wanted = std::ceil(sampling_.sample_s / std::max(run_s, 1e-9));
    return static_cast<int>(std::clamp<double>(wanted, 1, sampling_.most_runs));
  }

  void prepare(std::size_t i, int runs) {
    prepared_[i].rotation = testbed_.rotation(kernels_[i].kernel, runs);
    prepared_[i].runs = runs;
  }

  // Also wakes the kernel's own threads, by a run that is not timed.
  void settle(std::size_t i) {
    const Family* before = std::exchange(running_, kernels_[i].family);
    if (sampling_.settle.count() == 0 || before == running_) return;
    std::this_thread::sleep_for(sampling_.settle);
    testbed_.run(*kernels_[i].kernel, true);
  }

  // A kernel that throws is out; the others go on.
  template <typename Step>
  std::optional<double> guarded(std::size_t i, const Step& step) {
    if (!kernels_[i].failure.empty()) return std::nullopt;
    try {
      return step();
    } catch (const std::exception& error) {
      kernels_[i].failure = error.what();
      prepared_[i].rotation.reset();
      log::warn("{} cannot be timed: {}", kernels_[i].label, error.what());
      return std::nullopt;
    }
  }

  Testbed& testbed_;
  std::vector<Timed>& kernels_;
  Sampling sampling_;
  std::vector<Prepared> prepared_;
  const Family* running_ = nullptr;
};

}  // namespace

Policy policy_of(DeviceKind kind) {
  Policy policy;
  if (kind == DeviceKind::cuda) {
    policy.early_phase_s = 0.2;
    policy.final_phase_s = 0.45;
    policy.noisy_phase_s = 0.8;
    policy.band = 0.01;
    policy.widest_band = 0.04;
    policy.kin_band = 0.01;  // clocks wander, for all alike
    policy.enough_noise = 0.003;
    policy.by_median = true;
  }
  return policy;
}

std::optional<Surroundings> measure(const Problem& problem, const Device& device,
                                    std::vector<Timed>& kernels, const Policy& policy,
                                    const std::function<bool()>& stop, const Scene& scene) {
  const Stopwatch spent;
  const std::unique_ptr<Testbed> testbed = testbed_within_memory(problem, device, scene);
  if (!testbed) return std::nullopt;
  const double operands_s = spent.seconds();
  const CpuLoad load;
  Sampler sampler(*testbed, kernels, sampling_of(device.kind()),
                  1e-6 * model::floor_us(problem, device));
  sampler.warm_up(stop);
  const double warm_s = spent.seconds();
  const double clock_before = testbed->clock_ghz();

  std::vector<Contender> contenders;
  contenders.reserve(kernels.size());
  for (const Timed& timed : kernels) contenders.push_back(timed.contender);
  const int rounds = run_rounds(
      contenders, [&](std::size_t i) { return sampler(i); }, policy, stop);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernels[i].contender = contenders[i];
    log::debug("{}: {:.2f} us", kernels[i].label, fmt::join(contenders[i].samples, " "));
  }

  log::info(
      "{}: {} copies of the weights after {:.0f} ms, warm after {:.0f}, {} rounds after {:.0f}, "
      "clock {:.2f} to {:.2f} GHz",
      key(problem), testbed->copies(), 1e3 * operands_s, 1e3 * warm_s, rounds,
      1e3 * spent.seconds(), clock_before, testbed->clock_ghz());
  Surroundings surroundings;
  if (device.kind() == DeviceKind::cpu) surroundings.others = load.others();
  if (surroundings.others > kBusy) {
    log::warn("other processes took {:.0f}% of the CPUs while {} was measured",
              100 * surroundings.others, key(problem));
  }
  return surroundings;
}

}  // namespace gemwright::tune
