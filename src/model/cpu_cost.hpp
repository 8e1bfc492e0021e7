// Predicted time of GEMM kernels on a CPU, from first principles.
#pragma once

#include "device/profile.hpp"
#include "model/estimate.hpp"
#include <gemwright/problem.hpp>

namespace gemwright::model {

/// A vendor library with `threads` threads: roofline, with the part of either rate that such a
/// library reaches.
Estimate cpu_vendor_cost(const Problem& problem, const CpuProfile& cpu, int threads);

}  // namespace gemwright::model
