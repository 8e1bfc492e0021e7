// The host side of kernels/cuda/gemm_lowbit_a8.cu.
#pragma once

#include "families/cuda_family.hpp"

#include <memory>

namespace gemwright::cuda_lowbit {

std::shared_ptr<const Kernel> build_a8_kernel(const CudaFamily& family, const Problem& problem,
                                              const Device& device,
                                              const Configuration& configuration);

}  // namespace gemwright::cuda_lowbit
