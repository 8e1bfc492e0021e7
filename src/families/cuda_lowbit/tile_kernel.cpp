#include "families/cuda_lowbit/tile_kernel.hpp"

#include "cuda/lowbit_params.cuh"
#include "device/cuda/launch.hpp"
#include "families/cuda_common/gemm_params.hpp"
#include "families/cuda_lowbit/weight.hpp"

namespace gemwright::cuda_lowbit {
namespace {

class TileKernel final : public Kernel {
 public:
  TileKernel(const CudaFamily& family, const Problem& problem, const Device& device,
             const Configuration& configuration, const TileLaunch& launch)
      : family_(family),
        device_(device),
        configuration_(configuration),
        launch_(launch),
        source_(family.source(problem, device, configuration)) {
    const compile::Compiled compiled = compile::compile(source_);
    report_ = compiled.report;
    report_.dynamic_shared_bytes = static_cast<std::size_t>(launch.shared_bytes);
    loaded_ = cuda::LoadedKernel::load(device, compiled, source_.kernel_name,
                                       static_cast<unsigned>(launch.shared_bytes));
  }

  bool serves(const Problem& problem) const override {
    return !family_.refuse(problem, device_) && grid_size(problem, launch_) > 0 &&
           family_.source(problem, device_, configuration_).preamble == source_.preamble;
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
    loaded_->launch({.grid = {static_cast<unsigned>(grid_size(problem, launch_)), 1, 1},
                     .threads = static_cast<unsigned>(launch_.threads),
                     .shared_bytes = static_cast<unsigned>(launch_.shared_bytes)},
                    arguments, stream);
  }

  const BuildReport& report() const override { return report_; }

 private:
  const CudaFamily& family_;
  Device device_;
  Configuration configuration_;
  TileLaunch launch_;
  compile::Source source_;
  BuildReport report_;
  std::shared_ptr<const cuda::LoadedKernel> loaded_;
};

}  // namespace

std::shared_ptr<const Kernel> make_tile_kernel(const CudaFamily& family, const Problem& problem,
                                               const Device& device,
                                               const Configuration& configuration,
                                               const TileLaunch& launch) {
  return std::make_shared<TileKernel>(family, problem, device, configuration, launch);
}

}  // namespace gemwright::cuda_lowbit
