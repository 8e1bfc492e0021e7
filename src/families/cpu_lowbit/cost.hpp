// What a configuration does, in the terms of the CPU model.
#pragma once

#include "families/cpu_lowbit/setup.hpp"
#include "model/estimate.hpp"

namespace gemwright::cpu_lowbit {

/// Predicted time of the configuration on the problem, which it must take.
Estimate cost(const Problem& problem, const CpuProfile& cpu, const Setup& setup);

}  // namespace gemwright::cpu_lowbit
