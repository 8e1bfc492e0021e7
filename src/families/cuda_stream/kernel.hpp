// Building and launching the kernels of cuda_stream.
#pragma once

#include "families/cuda_family.hpp"

namespace gemwright::cuda_stream {

std::shared_ptr<const Kernel> build_kernel(const CudaFamily& family, const Problem& problem,
                                           const Device& device,
                                           const Configuration& configuration);

}  // namespace gemwright::cuda_stream
