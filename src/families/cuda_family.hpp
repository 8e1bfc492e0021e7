// What families that compile their own CUDA kernels have in common.
#pragma once

#include "compile/compiler.hpp"
#include "families/family.hpp"

namespace gemwright {

class CudaFamily : public Family {
 public:
  DeviceKind device_kind() const final { return DeviceKind::cuda; }
  /// What build() compiles for a configuration; needs no GPU, so that tests can compile them all.
  virtual compile::Source source(const Problem& problem, const Device& device,
                                 const Configuration& configuration) const = 0;
};

}  // namespace gemwright
