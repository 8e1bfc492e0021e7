// How the operands of a problem look to a CUDA kernel: majors, widths, and the preamble's lines.
#pragma once

#include "numeric/ceil_div.hpp"
#include <gemwright/problem.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gemwright::cuda_layout {

/// Largest dimension that kernels take: tile edges and steps are added to it in 32 bits.
inline constexpr std::int64_t kMaxSize = (std::int64_t{1} << 31) - 4096;

/// Family::summation_order of kernels whose every sum is one chain of wgmma or mma.sync in the
/// order of K: neither the shape of the tile, the side that an operand is on, nor which of the two
/// instructions multiplies changes a bit.
inline constexpr std::string_view kTensorCoreOrder = "tensor cores";

/// Why no CUDA kernel of ours takes the problem; nothing when they do.
std::optional<std::string> refuse_sizes(const Problem& problem);

/// Which dimension of A or B is contiguous in shared memory (and, where its stride is 1, in
/// memory). The numbers are those of kernels/cuda/shared_tile.cuh.
enum class Major : int { along_k = 0, along_rows = 1 };

/// One input as a loader sees it; rows are M of A and N of B.
struct Input {
  DataType type;
  std::int64_t rows, k;
  std::int64_t row_stride, k_stride, batch_stride;
  std::int64_t batch;
  int alignment;

  /// The dimension with the smaller stride; K where they are equal.
  Major major() const;
  /// Bytes that a copy along the major dimension may move at once, 16, 8 or 4: base and other
  /// strides are multiples of it, and the major stride is 1. 0 when none fits.
  int copy_bytes() const;
  /// Elements of the major dimension that a load may take at once; they divide its size too.
  int vector(int max_bytes) const;
};

Input input_a(const Problem& problem);
Input input_b(const Problem& problem);

/// Adjacent columns that C and D may be accessed by: a power of two up to 16 bytes of D, 1 where
/// strides are general. See kernels/cuda/epilogue.cuh.
int output_width(const Problem& problem);

/// "constexpr int kTypeD = 2, kWidth = 8, ...;\n": the lines that every kernel's epilogue needs.
std::string epilogue_preamble(const Problem& problem, int width);

/// Tiles of `tile` that cover `size`.
constexpr std::int64_t tiles_of(std::int64_t size, std::int64_t tile) {
  return numeric::ceil_div(size, tile);
}

}  // namespace gemwright::cuda_layout
