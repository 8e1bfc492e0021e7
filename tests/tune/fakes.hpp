// Families that exist only here: one that is right, and those that do what no kernel should.
#pragma once

#include "device/profile.hpp"
#include "families/family.hpp"
#include "model/rank.hpp"
#include "numeric/convert.hpp"
#include "tune/measure.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gemwright::tune {

enum class Act : std::int32_t {
  right,
  crash,
  hang,
  wrong,      // one element is off
  unwritten,  // the last element is left
  tramples,   // writes before D
  overreads,  // reads A beyond its end
  dirty,      // right on a fresh workspace only
  no_build,   // throws an Error
  bad_build,  // throws something else
  no_memory,  // asks for a workspace that no machine has
  throws,     // reports a device error from run
  talks,      // prints on standard output; right
  wild,       // right; by its own clock two runs of three take far longer
  slow,       // right; by its own clock a hundred times slower than it is predicted
};
inline constexpr int kActs = 15;

class FakeKernel final : public Kernel {
 public:
  explicit FakeKernel(Act act) : act_(act) {}

  bool serves(const Problem&) const override { return true; }
  std::size_t workspace_bytes(const Problem&) const override {
    if (act_ == Act::no_memory) return std::size_t{1} << 50;
    return act_ == Act::dirty ? 256 : 0;
  }

  void run(const Problem& p, const Operands& operands, void* workspace, Stream) const override {
    if (act_ == Act::crash) std::raise(SIGSEGV);
    while (act_ == Act::hang) std::this_thread::sleep_for(std::chrono::seconds(1));
    if (act_ == Act::throws) throw DeviceError("the device is in an error");
    if (act_ == Act::talks) {
      std::puts("{\"kind\": \"wrong\"}");
      std::fflush(stdout);
    }
    multiply(p, operands);
    const std::int64_t last = p.m * p.n - 1;
    auto* d = static_cast<float*>(operands.d);
    if (act_ == Act::wrong) d[last / 2] += 0.01F;
    if (act_ == Act::tramples) d[-1] = 0;
    if (act_ == Act::overreads)
      d[0] += 1e-30F * static_cast<const float*>(operands.a)[p.m * p.k + 16];
    if (act_ == Act::dirty && ++*static_cast<int*>(workspace) > 1) d[0] += 1;
  }

  /// What the next run takes by the fakes' own clock.
  double next_us() const {
    if (act_ == Act::wild) return ++runs_ % 3 == 0 ? 10 : 100;
    return act_ == Act::slow ? 1000 : 10;
  }

 private:
  // Contiguous fp32 only.
  void multiply(const Problem& p, const Operands& operands) const {
    const auto* a = static_cast<const float*>(operands.a);
    const auto* b = static_cast<const float*>(operands.b);
    auto* d = static_cast<float*>(operands.d);
    for (std::int64_t i = 0; i < p.m * p.n; ++i) {
      if (act_ == Act::unwritten && i == p.m * p.n - 1) continue;
      float sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) sum += a[i / p.n * p.k + k] * b[k * p.n + i % p.n];
      d[i] = sum;
    }
  }

  Act act_;
  mutable std::atomic<int> runs_{0};
};

class FakeFamily final : public Family {
 public:
  FakeFamily(std::string name, bool vendor) : name_(std::move(name)), vendor_(vendor) {}

  std::string_view name() const override { return name_; }
  DeviceKind device_kind() const override { return DeviceKind::cpu; }
  int version() const override { return 3; }
  bool vendor() const override { return vendor_; }
  std::optional<std::string> refuse(const Problem&, const Device&) const override { return {}; }
  std::span<const std::string_view> parameters() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"act", "number"};
    return kNames;
  }
  std::string configuration_name(const Configuration& configuration) const override {
    return "act" + std::to_string(configuration.values[0]) + "_" +
           std::to_string(configuration.values[1]);
  }
  std::vector<Configuration> configurations(const Problem&, const Device&) const override {
    return {};
  }
  void estimate(const Problem&, const Device&, std::span<const Configuration>,
                std::span<Estimate>) const override {}
  std::shared_ptr<const Kernel> build(const Problem&, const Device&,
                                      const Configuration& configuration) const override {
    const auto act = static_cast<Act>(configuration.values[0]);
    if (act == Act::no_build) throw Unsupported("does not build");
    if (act == Act::bad_build) throw std::logic_error("a bug in build");
    return std::make_shared<FakeKernel>(act);
  }

 private:
  std::string name_;
  bool vendor_;
};

inline const FakeFamily& fake_family() {
  static const FakeFamily family("fake", false);
  return family;
}
inline const FakeFamily& fake_vendor() {
  static const FakeFamily family("fake_vendor", true);
  return family;
}

inline const Family* find_family(std::string_view name) {
  if (name == "fake") return &fake_family();
  if (name == "fake_vendor") return &fake_vendor();
  return families::find(name);
}

inline Candidate fake(Act act, int number = 0, const Family& family = fake_family()) {
  Candidate candidate;
  candidate.family = &family;
  candidate.configuration.values[0] = static_cast<std::int32_t>(act);
  candidate.configuration.values[1] = number;
  candidate.estimate.us = 10;
  return candidate;
}

/// Times fakes by their own clock, on a machine that others use so much.
inline auto measure_fakes(double others = 0) {
  return [others](std::vector<Timed>& kernels, const Policy& policy,
                  const std::function<bool()>& stop) -> std::optional<Surroundings> {
    std::vector<Contender> contenders;
    for (const Timed& timed : kernels) contenders.push_back(timed.contender);
    const auto time_one = [&](std::size_t i) -> std::optional<SampleTime> {
      const double us = static_cast<const FakeKernel&>(*kernels[i].kernel).next_us();
      return SampleTime{us, us * 1e-6};
    };
    run_rounds(contenders, time_one, policy, stop);
    for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i].contender = contenders[i];
    return Surroundings{others};
  };
}

/// This CPU with at most two threads and a small cache, so that few copies of weights are made.
inline Device small_device() {
  auto profile = std::make_shared<DeviceProfile>(Device::cpu().profile());
  profile->cpu.threads = std::min(2, profile->cpu.cores);
  profile->cpu.l3_bytes = std::size_t{1} << 20;
  return {profile, 0, true};
}

}  // namespace gemwright::tune
