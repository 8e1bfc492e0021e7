// A problem in cuBLASLt's terms.
#pragma once

#include "families/cuda_vendor/cublaslt.hpp"
#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gemwright::cuda_vendor {

/// Scratch memory that algorithms are offered.
inline constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

/// Alignment of a bias that usual algorithms count on. A problem promises that of its type only.
inline constexpr std::uintptr_t kBiasAlignment = 16;

/// Room for an opaque descriptor of the library that runs, whose size may differ from the header's.
using Opaque = std::array<std::uint64_t, 64>;

/// How an operand lies for a column-major library.
struct Layout {
  bool transposed = false;
  std::int64_t rows = 0;  // as stored
  std::int64_t cols = 0;
  std::int64_t ld = 0;
};

/// The layout of a row-major matrix's transpose (cols x rows, column-major), which is the same
/// memory; nothing when neither dimension is contiguous or rows overlap.
std::optional<Layout> layout_of(const Operand& operand, std::int64_t rows, std::int64_t cols);

/// Nothing when cuBLASLt takes the canonical problem, else why not.
std::optional<std::string> refuse(const Problem& problem);

/// Descriptors of a problem that refuse() takes. D is row-major and cuBLASLt column-major, so what
/// it computes is D' = B' * A'. Plain data: copied to a stack where a run has to change one.
class Matmul {
 public:
  /// The bias of the runs is at multiples of `bias_alignment`: at less than kBiasAlignment the
  /// library takes slow kernels only.
  explicit Matmul(const Problem& problem, std::uintptr_t bias_alignment = kBiasAlignment);

  /// The first `count` heuristics, best first, with no more than kWorkspaceBytes each and without
  /// reductions in a type narrower than fp32. Needs the device's primary context current.
  std::vector<cublasLtMatmulHeuristicResult_t> heuristics(cublasLtHandle_t handle, int count) const;
  /// Workspace of the algorithm for the problem; nothing when it does not take it.
  std::optional<std::size_t> workspace_bytes(cublasLtHandle_t handle,
                                             const cublasLtMatmulAlgo_t& algorithm) const;
  void run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm, const Operands& operands,
           void* workspace, std::size_t workspace_bytes, Stream stream) const;

  cublasComputeType_t compute_type() const { return compute_type_; }
  cudaDataType_t input_type() const { return input_type_; }
  cudaDataType_t output_type() const { return output_type_; }

 private:
  void set_layout(Opaque& to, const Operand& operand, std::int64_t rows, std::int64_t cols) const;

  Problem problem_;
  cublasComputeType_t compute_type_;
  cudaDataType_t input_type_;
  cudaDataType_t output_type_;
  Opaque desc_;
  Opaque a_, b_, c_, d_;  // of the problem; cuBLASLt's A is our B
};

}  // namespace gemwright::cuda_vendor
