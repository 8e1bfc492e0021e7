// A built warp-specialised Hopper kernel.
#pragma once

#include "families/cuda_family.hpp"
#include "families/cuda_hopper/setting.hpp"

#include <memory>

namespace gemwright::cuda_hopper {

/// The kernel's text for a problem.
compile::Source kernel_source(const Problem& problem, const Setting& setting);

/// Compiles (or finds) the kernel of a configuration of `family`, which is `setting` here and whose
/// source is kernel_source. Throws Error.
std::shared_ptr<const Kernel> build_kernel(const CudaFamily& family, const Problem& problem,
                                           const Device& device, const Configuration& configuration,
                                           const Setting& setting);

}  // namespace gemwright::cuda_hopper
