// Which settings of cuda_lowbit are worth trying.
#pragma once

#include "families/cuda_lowbit/setting.hpp"
#include "model/lowbit_cost.hpp"

#include <vector>

namespace gemwright::cuda_lowbit {

std::vector<Configuration> enumerate(const Problem& problem, const Device& device);

/// What the model needs to know of a setting.
model::LowbitWork work_of(const Setting& setting, const Problem& problem, const Device& device);

}  // namespace gemwright::cuda_lowbit
