// Times validated kernels on a device.
#pragma once

#include "tune/rounds.hpp"
#include "tune/testbed.hpp"

#include <functional>
#include <memory>
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

/// The policy of a kind of device.
Policy policy_of(DeviceKind kind);

/// Warms up by time, then runs the rounds, every run in the scene given. Returns false, with
/// nothing timed, when there is no memory for the operands.
bool measure(const Problem& problem, const Device& device, std::vector<Timed>& kernels,
             const Policy& policy, const std::function<bool()>& stop, const Scene& scene = {});

}  // namespace gemwright::tune
