#include "tune/measure.hpp"

#include "log/log.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>

namespace gemwright::tune {
namespace {

// How a kind of device is timed.
struct Sampling {
  double warm_up_s;  // until clocks are where they stay
  double sample_s;   // long against the timer's resolution and against what interrupts take
  int probe_runs;
  int most_runs;
};

Sampling sampling_of(DeviceKind kind) {
  if (kind == DeviceKind::cuda) {
    return {.warm_up_s = 0.2, .sample_s = 0.0015, .probe_runs = 8, .most_runs = 512};
  }
  return {.warm_up_s = 0.05, .sample_s = 0.0015, .probe_runs = 1, .most_runs = 100'000};
}

// Fewer copies when memory is short: warm weights are better than no measurement.
std::unique_ptr<Testbed> testbed_within_memory(const Problem& problem, const Device& device) {
  for (const int copies : {0, 1}) {
    try {
      return make_testbed(problem, device, {.copies = copies});
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
  Sampler(Testbed& testbed, std::vector<Timed>& kernels, const Sampling& sampling)
      : testbed_(testbed), kernels_(kernels), sampling_(sampling), prepared_(kernels.size()) {}

  // Runs everybody in turn until the device is warm; this also tells how long each takes.
  void warm_up(const std::function<bool()>& stop) {
    double spent = 0;
    do {
      double round = 0;
      for (std::size_t i = 0; i < kernels_.size() && !stop(); ++i) {
        const auto seconds = guarded(i, [&] {
          if (!prepared_[i].rotation) prepare(i, sampling_.probe_runs);
          return prepared_[i].rotation->seconds();
        });
        if (!seconds) continue;
        round += *seconds;
        Prepared& prepared = prepared_[i];
        prepared.run_s = std::min(prepared.run_s, *seconds / sampling_.probe_runs);
      }
      if (round == 0) break;
      spent += round;
    } while (spent < sampling_.warm_up_s);
    for (Prepared& prepared : prepared_) prepared.rotation.reset();
  }

  std::optional<SampleTime> operator()(std::size_t i) {
    Prepared& prepared = prepared_[i];
    const auto seconds = guarded(i, [&] {
      if (!prepared.rotation) prepare(i, runs_for(prepared.run_s));
      return prepared.rotation->seconds();
    });
    if (!seconds) return std::nullopt;
    return SampleTime{*seconds / prepared.runs * 1e6, *seconds};
  }

 private:
  struct Prepared {
    std::unique_ptr<Rotation> rotation;
    int runs = 0;
    double run_s = 1e9;
  };

  int runs_for(double run_s) const {
    const double wanted = std::ceil(sampling_.sample_s / std::max(run_s, 1e-9));
    return static_cast<int>(std::clamp<double>(wanted, 1, sampling_.most_runs));
  }

  void prepare(std::size_t i, int runs) {
    prepared_[i].rotation = testbed_.rotation(kernels_[i].kernel, runs);
    prepared_[i].runs = runs;
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
};

}  // namespace

Policy policy_of(DeviceKind kind) {
  Policy policy;
  if (kind == DeviceKind::cuda) {
    policy.early_phase_s = 0.2;
    policy.final_phase_s = 0.6;
    policy.band = 0.02;
    policy.enough_noise = 0.005;
  }
  return policy;
}

bool measure(const Problem& problem, const Device& device, std::vector<Timed>& kernels,
             const std::function<bool()>& stop) {
  const std::unique_ptr<Testbed> testbed = testbed_within_memory(problem, device);
  if (!testbed) return false;
  Sampler sampler(*testbed, kernels, sampling_of(device.kind()));
  sampler.warm_up(stop);
  const double clock_before = testbed->clock_ghz();

  std::vector<Contender> contenders;
  for (const Timed& timed : kernels) contenders.push_back(timed.contender);
  const int rounds = run_rounds(
      contenders, [&](std::size_t i) { return sampler(i); }, policy_of(device.kind()), stop);
  for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i].contender = contenders[i];

  log::info("{}: {} rounds over {} copies of the weights, clock {:.2f} to {:.2f} GHz", key(problem),
            rounds, testbed->copies(), clock_before, testbed->clock_ghz());
  return true;
}

}  // namespace gemwright::tune
