// The host side of kernels/cuda/gemm_lowbit_wide.cu.
#pragma once

#include "families/cuda_common/compiled_kernel.hpp"

#include <memory>

namespace gemwright::cuda_lowbit {

/// What build_wide_kernel builds, for those who give factors.
class WideProduct : public CompiledKernel {
 public:
  /// As run, and multiplies A B, beside alpha, by the factor of each row: fp32 in device memory.
  /// For kernels of wide_family(true).
  virtual void run_with(const Problem& problem, const Operands& operands, const float* row_factors,
                        void* workspace, Stream stream) const = 0;

 protected:
  using CompiledKernel::CompiledKernel;
};

std::shared_ptr<const WideProduct> build_wide_kernel(const CudaFamily& family,
                                                     const Problem& problem, const Device& device,
                                                     const Configuration& configuration);

/// cuda_lowbit_wide, or one like it whose kernels multiply rows by factors: for families that
/// run_with them, and not one of families::all().
const CudaFamily& wide_family(bool row_factors);

}  // namespace gemwright::cuda_lowbit
