// A built warp-specialised Hopper kernel.
#pragma once

#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_hopper/setting.hpp"

#include <memory>

namespace gemwright::cuda_hopper {

/// Factors of A B beside alpha, fp32 in device memory: one for each row and each column of D.
struct Factors {
  const float* rows = nullptr;
  const float* columns = nullptr;
};

/// Which of them a kernel multiplies by.
struct FactorSides {
  bool rows = false;
  bool columns = false;
};

/// The kernel's text for a problem.
compile::Source kernel_source(const Problem& problem, const Setting& setting,
                              FactorSides sides = {});

/// What build_kernel builds, for those who give factors.
class HopperProduct : public CompiledKernel {
 public:
  /// As run; with the factors that it was built for.
  virtual void run_with(const Problem& problem, const Operands& operands, const Factors& factors,
                        void* workspace, Stream stream) const = 0;

 protected:
  using CompiledKernel::CompiledKernel;
};

/// Compiles (or finds) the kernel of a configuration of `family`, which is `setting` here and whose
/// source is kernel_source. Throws Error.
std::shared_ptr<const HopperProduct> build_kernel(const CudaFamily& family, const Problem& problem,
                                                  const Device& device,
                                                  const Configuration& configuration,
                                                  const Setting& setting);

/// cuda_hopper with kernels that multiply by factors: for families that run_with them. Not one of
/// families::all().
const CudaFamily& family_with(FactorSides sides);

}  // namespace gemwright::cuda_hopper
