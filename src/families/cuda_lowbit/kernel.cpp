#include "families/cuda_lowbit/kernel.hpp"

#include "cuda/lowbit_params.cuh"
#include "device/profile.hpp"
#include "families/cuda_common/compiled_kernel.hpp"
#include "families/cuda_common/gemm_params.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_lowbit/setting.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <string>

namespace gemwright::cuda_lowbit {
namespace {

using cuda_layout::tiles_of;
using gemwright_device::LowbitParams;

class LowbitKernel final : public CompiledKernel {
 public:
  LowbitKernel(const CudaFamily& family, const Problem& problem, const Device& device,
               const Configuration& configuration)
      : CompiledKernel(family, problem, device, configuration),
        setting_(setting_of(configuration)) {
    shape_.threads = static_cast<unsigned>(setting_.threads());
    shape_.cluster[0] = static_cast<unsigned>(setting_.split);
    const CudaProfile& gpu = device.profile().cuda;
    const auto shared =
        static_cast<unsigned>(gpu.shared_per_sm) / static_cast<unsigned>(setting_.ctas) - 1024U;
    shape_.shared_bytes = std::min(shared, static_cast<unsigned>(gpu.shared_per_block));
    clusters_ = load_clusters(shape_);
    if (clusters_ == 0 || dealt(problem).slots == 0) {
      throw DeviceError(name_of(setting_) + " does not fit on the device");
    }
    report_shared(dealt(problem).shared_bytes);
  }

  bool serves(const Problem& problem) const override {
    return CompiledKernel::serves(problem) && dealt(problem).slots > 0;
  }

  std::size_t workspace_bytes(const Problem& /*problem*/) const override { return 0; }

  void run(const Problem& problem, const Operands& operands, void* /*workspace*/,
           Stream stream) const override {
    const Dealt plan = dealt(problem);
    LowbitParams params{};
    params.gemm = gemm_params(problem, operands);
    params.weight = weight_at(problem, operands.b);
    params.tiles = plan.tiles;
    params.share = plan.share;
    params.passes = plan.passes;
    params.slots = plan.slots;
    params.early = operands.early == Early::b ? 1 : 0;
    cuda::LaunchShape shape = shape_;
    shape.shared_bytes = static_cast<unsigned>(plan.shared_bytes);
    shape.grid[0] = static_cast<unsigned>(plan.clusters * setting_.split);
    shape.grid[1] = static_cast<unsigned>(tiles_of(problem.m, setting_.cols));
    shape.dependent = operands.early == Early::b;
    void* arguments[] = {&params};
    launch(shape, arguments, stream);
  }

 private:
  Dealt dealt(const Problem& problem) const {
    return deal(setting_, problem, device().profile().cuda, clusters_);
  }

  Setting setting_;
  cuda::LaunchShape shape_;  // but for the grid and shared memory
  int clusters_ = 0;         // resident at once
};

}  // namespace

std::shared_ptr<const Kernel> build_kernel(const CudaFamily& family, const Problem& problem,
                                           const Device& device,
                                           const Configuration& configuration) {
  return std::make_shared<LowbitKernel>(family, problem, device, configuration);
}

}  // namespace gemwright::cuda_lowbit
