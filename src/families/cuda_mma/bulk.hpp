// mma.sync fed by bulk copies, on sm_90: the warp-specialised kernel of cuda_hopper with another
// mainloop. Loads take no issue slots of the warps that multiply, which on Hopper bound them.
#pragma once

#include "families/cuda_hopper/setting.hpp"

#include <vector>

namespace gemwright::cuda_mma {

/// Every setting that can run the problem; none where bulk copies do not take its operands.
std::vector<cuda_hopper::Setting> bulk_settings(const Problem& problem, const Device& device);

}  // namespace gemwright::cuda_mma
