#include "families/cuda_lowbit/kernel.hpp"

#include "cuda/lowbit_params.cuh"
#include "device/cuda/launch.hpp"
#include "device/profile.hpp"
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

class LowbitKernel final : public Kernel {
 public:
  LowbitKernel(const CudaFamily& family, const Problem& problem, const Device& device,
               const Configuration& configuration)
      : family_(family),
        device_(device),
        configuration_(configuration),
        setting_(setting_of(configuration)),
        source_(family.source(problem, device, configuration)) {
    shape_.threads = static_cast<unsigned>(setting_.threads());
    shape_.cluster[0] = static_cast<unsigned>(setting_.split);
    const CudaProfile& gpu = device.profile().cuda;
    const auto shared =
        static_cast<unsigned>(gpu.shared_per_sm) / static_cast<unsigned>(setting_.ctas) - 1024U;
    const unsigned most = std::min(shared, static_cast<unsigned>(gpu.shared_per_block));
    shape_.shared_bytes = most;
    const compile::Compiled compiled = compile::compile(source_);
    report_ = compiled.report;
    loaded_ = cuda::LoadedKernel::load(device, compiled, source_.kernel_name, most);
    shape_.grid[0] = shape_.cluster[0];
    clusters_ = loaded_->max_active_clusters(shape_);
    if (clusters_ == 0 || dealt(problem).slots == 0) {
      throw DeviceError(name_of(setting_) + " does not fit on the device");
    }
    report_.dynamic_shared_bytes = dealt(problem).shared_bytes;
  }

  bool serves(const Problem& problem) const override {
    return !family_.refuse(problem, device_) && dealt(problem).slots > 0 &&
           family_.source(problem, device_, configuration_).preamble == source_.preamble;
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
    loaded_->launch(shape, arguments, stream);
  }

  const BuildReport& report() const override { return report_; }

 private:
  Dealt dealt(const Problem& problem) const {
    return deal(setting_, problem, device_.profile().cuda, clusters_);
  }

  const CudaFamily& family_;
  Device device_;
  Configuration configuration_;
  Setting setting_;
  compile::Source source_;
  BuildReport report_;
  std::shared_ptr<const cuda::LoadedKernel> loaded_;
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
