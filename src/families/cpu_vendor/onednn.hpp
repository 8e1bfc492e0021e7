// oneDNN's two primitives that do GEMM, behind one face for versions 2 and 3 of its interface.
#pragma once

#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace gemwright::onednn {

/// `matmul` takes any pitch and batch; `inner_product` is the linear layer, whose kernels for plain
/// weights are others, and often the faster ones for few rows.
enum class Primitive : unsigned char { matmul, inner_product };

/// The library's own version, for instance "2.6.3".
std::string version();

/// Whether there is more than a reference loop for operands of the type on this CPU: asked of the
/// library once for each type, in about a millisecond.
bool multiplies(DataType type);

/// Why the primitive does not take the problem, or only by its reference loop; empty when it does.
/// Asks the library, in tens of microseconds.
std::string refusal(const Problem& problem, Primitive primitive);

/// A primitive made for one problem and number of threads. Safe to run from many threads at once.
class Gemm {
 public:
  /// Generates code, which takes up to some milliseconds. Throws Error when oneDNN has no optimised
  /// implementation for the problem on this CPU.
  Gemm(const Problem& problem, Primitive primitive, int threads);
  ~Gemm();

  std::size_t scratch_bytes() const;
  void run(const Operands& operands, void* scratch) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemwright::onednn
