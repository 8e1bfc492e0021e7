// The packed weight of a problem, as kernels take it.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"
#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

namespace gemwright::cpu_lowbit {

/// With K = 0 there need be no weight in memory.
Weight weight_of(const Problem& problem, const Operands& operands);

/// 1 where the format has none.
float global_scale_of(const Weight& weight);

}  // namespace gemwright::cpu_lowbit
