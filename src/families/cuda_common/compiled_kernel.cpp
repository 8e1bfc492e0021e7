#include "families/cuda_common/compiled_kernel.hpp"

namespace gemwright {

CompiledKernel::CompiledKernel(const CudaFamily& family, const Problem& problem,
                               const Device& device, const Configuration& configuration)
    : family_(family),
      device_(device),
      configuration_(configuration),
      source_(family.source(problem, device, configuration)),
      compiled_(compile::compile(source_)) {}

bool CompiledKernel::serves(const Problem& problem) const {
  return !family_.refuse(problem, device_) &&
         family_.source(problem, device_, configuration_).preamble == source_.preamble;
}

void CompiledKernel::load(unsigned shared_bytes) {
  loaded_ = cuda::LoadedKernel::load(device_, compiled_, source_.kernel_name, shared_bytes);
  report_shared(shared_bytes);
}

int CompiledKernel::load_clusters(cuda::LaunchShape shape) {
  load(shape.shared_bytes);
  shape.grid[0] = shape.cluster[0];
  return loaded_->max_active_clusters(shape);
}

std::shared_ptr<const cuda::LoadedKernel> CompiledKernel::load_other(
    const std::string& kernel_name) const {
  return cuda::LoadedKernel::load(device_, compiled_, kernel_name, 0);
}

}  // namespace gemwright
