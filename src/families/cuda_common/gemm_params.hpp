// What a GEMM kernel is given, filled from a problem and its operands.
#pragma once

#include "cuda/params.cuh"
#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

namespace gemwright {

/// The counters of split-K lie at the workspace's start, the partials after them; both are null
/// without a workspace.
gemwright_device::GemmParams gemm_params(const Problem& problem, const Operands& operands,
                                         void* workspace = nullptr);

}  // namespace gemwright
