// What the kernels that a CudaFamily compiles have in common.
#pragma once

#include "device/cuda/launch.hpp"
#include "families/cuda_family.hpp"

#include <memory>
#include <string>

namespace gemwright {

/// Compiled and loaded; the classes derived from it know how to launch.
class CompiledKernel : public Kernel {
 public:
  /// Every problem that would have been compiled from the same source.
  bool serves(const Problem& problem) const override;
  const BuildReport& report() const final { return compiled_.report; }

 protected:
  /// Compiles, or takes from the cache, what `family` has for the configuration. Throws Error.
  CompiledKernel(const CudaFamily& family, const Problem& problem, const Device& device,
                 const Configuration& configuration);

  /// Loads it with `shared_bytes` of dynamic shared memory. Once, before anything is launched.
  void load(unsigned shared_bytes);
  /// Loads it for clusters of `shape`; how many of them the device holds at a time.
  int load_clusters(cuda::LaunchShape shape);
  /// Another kernel of the same source, with static shared memory only.
  std::shared_ptr<const cuda::LoadedKernel> load_other(const std::string& kernel_name) const;
  /// Where launches take less than was loaded for.
  void report_shared(std::size_t bytes) { compiled_.report.dynamic_shared_bytes = bytes; }

  const Device& device() const { return device_; }
  void launch(const cuda::LaunchShape& shape, void** arguments, Stream stream) const {
    loaded_->launch(shape, arguments, stream);
  }

 private:
  const CudaFamily& family_;
  Device device_;
  Configuration configuration_;
  compile::Source source_;
  compile::Compiled compiled_;
  std::shared_ptr<const cuda::LoadedKernel> loaded_;
};

}  // namespace gemwright
