// Candidates as the benches time them: built, and checked against the reference.
#pragma once

#include "model/rank.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace gemwright::bench {

struct Checked {
  std::size_t candidate = 0;  // index of
  std::shared_ptr<const Kernel> kernel;
};

/// Kernels of those candidates that build and are right on the problem, in their order; of the
/// others it prints why they are left out. Throws DeviceError, OutOfMemory.
std::vector<Checked> build_checked(const Problem& problem, const Device& device,
                                   const std::vector<Candidate>& candidates);

}  // namespace gemwright::bench
