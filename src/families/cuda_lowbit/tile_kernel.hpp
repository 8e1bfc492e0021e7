// The host side of low-bit kernels with one grid of tiles: kernels/cuda/gemm_lowbit_mma.cu and
// gemm_lowbit_simt.cu.
#pragma once

#include "families/cuda_common/gemm_kernel.hpp"

#include <memory>

namespace gemwright::cuda_lowbit {

std::shared_ptr<const Kernel> make_tile_kernel(const CudaFamily& family, const Problem& problem,
                                               const Device& device,
                                               const Configuration& configuration,
                                               const TileLaunch& launch);

}  // namespace gemwright::cuda_lowbit
