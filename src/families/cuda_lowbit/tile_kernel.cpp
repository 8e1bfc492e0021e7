#include "families/cuda_lowbit/tile_kernel.hpp"

#include "cuda/lowbit_params.cuh"
#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_common/gemm_params.hpp"
#include "families/cuda_lowbit/weight.hpp"

namespace gemwright::cuda_lowbit {
namespace {

class TileKernel final : public CompiledKernel {
 public:
  TileKernel(const CudaFamily& family, const Problem& problem, const Device& device,
             const Configuration& configuration, const TileLaunch& launch)
      : CompiledKernel(family, problem, device, configuration), launch_(launch) {
    load(static_cast<unsigned>(launch.shared_bytes));
  }

  bool serves(const Problem& problem) const override {
    return CompiledKernel::serves(problem) && grid_size(problem, launch_) > 0;
  }

  std::size_t workspace_bytes(const Problem& problem) const override {
    return split_bytes(problem, launch_);
  }

  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream stream) const override {
    gemwright_device::LowbitTileParams params{gemm_params(problem, operands, workspace),
                                              weight_at(problem, operands.b)};
    params.gemm.splits = effective_splits(problem, launch_);
    params.gemm.group = launch_.group;
    void* arguments[] = {&params};
    launch({.grid = {static_cast<unsigned>(grid_size(problem, launch_)), 1, 1},
            .threads = static_cast<unsigned>(launch_.threads),
            .shared_bytes = static_cast<unsigned>(launch_.shared_bytes)},
           arguments, stream);
  }

 private:
  TileLaunch launch_;
};

}  // namespace

std::shared_ptr<const Kernel> make_tile_kernel(const CudaFamily& family, const Problem& problem,
                                               const Device& device,
                                               const Configuration& configuration,
                                               const TileLaunch& launch) {
  return std::make_shared<TileKernel>(family, problem, device, configuration, launch);
}

}  // namespace gemwright::cuda_lowbit
