// Times validated kernels on a device.
#pragma once

#include "tune/rounds.hpp"
#include "tune/testbed.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gemwright::tune {

/// A kernel to be timed, and what came of it.
struct Timed {
  const Family* family = nullptr;
  std::shared_ptr<const Kernel> kernel;
  std::string label;  // for the log
  Contender contender;
  std::string failure;  // when it threw
};

/// Share of the processors' time that others may take before a measurement is called disturbed.
inline constexpr double kBusy = 0.1;

/// What else went on while kernels were timed.
struct Surroundings {
  double others = 0;  // share of the processors' time that other processes took; 0: not known
};

/// The policy of a kind of device.
Policy policy_of(DeviceKind kind);

/// Warms up by time, then runs the rounds, every run in the scene given. Returns nothing, with
/// nothing timed, when there is no memory for the operands.
std::optional<Surroundings> measure(const Problem& problem, const Device& device,
                                    std::vector<Timed>& kernels, const Policy& policy,
                                    const std::function<bool()>& stop, const Scene& scene = {});

}  // namespace gemwright::tune
