// A built warp-specialised Hopper kernel.
#pragma once

#include "families/cuda_family.hpp"
#include "families/cuda_hopper/setting.hpp"

#include <memory>

namespace gemwright::cuda_hopper {

/// Compiles (or finds) the configuration's kernel. Throws Error.
std::shared_ptr<const Kernel> build_kernel(const CudaFamily& family, const Problem& problem,
                                           const Device& device,
                                           const Configuration& configuration);

}  // namespace gemwright::cuda_hopper
