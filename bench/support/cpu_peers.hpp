// CPU libraries that own kernels are measured against, beyond the families of the library itself.
#pragma once

#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gemwright::bench {

/// One way to run a problem, with weights in the layout that it likes best.
struct Runner {
  std::string group;   // competitor, as in Row::us
  std::string kernel;  // for people
  /// Bytes of one copy of the weights.
  std::size_t weight_bytes = 0;
  std::function<void(const void* weights)> run;
};

/// oneDNN with weights in the layout that it asks for ("onednn_any"), by either of its primitives.
/// Empty when this build has no oneDNN, or it has no fast kernel. `x` holds all pointers but B.
std::vector<Runner> onednn_any(const Problem& problem, const Operands& x, int threads);

/// OpenBLAS's sgemm, opened at run time; empty when it is not installed, or the types are not fp32.
std::vector<Runner> openblas(const Problem& problem, const Operands& x, int threads);

}  // namespace gemwright::bench
