// Which settings are worth considering for a problem.
#pragma once

#include "families/cuda_hopper/setting.hpp"

#include <vector>

namespace gemwright::cuda_hopper {

std::vector<Configuration> enumerate(const Problem& problem, const Device& device);

}  // namespace gemwright::cuda_hopper
