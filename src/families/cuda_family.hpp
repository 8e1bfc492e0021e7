// What families that compile their own CUDA kernels have in common.
#pragma once

#include "compile/compiler.hpp"
#include "families/family.hpp"

#include <vector>

namespace gemwright {

class CudaFamily : public Family {
 public:
  DeviceKind device_kind() const final { return DeviceKind::cuda; }
  /// What build() compiles for a configuration; needs no GPU, so that tests can compile them all.
  virtual compile::Source source(const Problem& problem, const Device& device,
                                 const Configuration& configuration) const = 0;
  /// All that build() compiles: also of the other family's kernel, where one is a part of it.
  virtual std::vector<compile::Source> sources(const Problem& problem, const Device& device,
                                               const Configuration& configuration) const {
    return {source(problem, device, configuration)};
  }
};

}  // namespace gemwright
