// Where an operand's elements lie.
#pragma once

#include <gemwright/problem.hpp>

#include <algorithm>
#include <cstdint>

namespace gemwright {

/// Of each of a problem's sizes.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

/// Whether there is nothing to compute. With K = 0 there is: zeros and the bias.
inline bool has_empty_result(const Problem& problem) {
  return problem.m == 0 || problem.n == 0 || problem.batch == 0;
}

/// A size-1 dimension's stride says nothing, and may be any number; it gets the value of the layout
/// that the other dimension suggests, so that no kernel refuses it for a stride that is never used.
inline void normalise_strides(Operand& operand, std::int64_t rows, std::int64_t cols,
                              std::int64_t batch) {
  if (operand.packed) {
    operand.row_stride = operand.col_stride = operand.batch_stride = 0;
    return;
  }
  if (batch <= 1) operand.batch_stride = 0;
  if (rows <= 1 && cols <= 1) {
    operand.row_stride = operand.col_stride = 1;
  } else if (rows <= 1) {
    operand.row_stride = operand.col_stride == 1 ? cols : 1;
  } else if (cols <= 1) {
    operand.col_stride = operand.row_stride == 1 ? rows : 1;
  }
}

/// Elements at addresses of their own: dimensions of stride 0 count once.
inline double distinct_elements(const Operand& operand, std::int64_t rows, std::int64_t cols,
                                std::int64_t batch) {
  if (operand.packed) return static_cast<double>(rows) * static_cast<double>(cols);
  const auto count = [](std::int64_t size, std::int64_t stride) {
    return static_cast<double>(stride == 0 ? std::min<std::int64_t>(size, 1) : size);
  };
  return count(rows, operand.row_stride) * count(cols, operand.col_stride) *
         count(batch, operand.batch_stride);
}

/// Elements from the base pointer to one past the last element; 0 when there are none.
inline std::int64_t span_elements(const Operand& operand, std::int64_t rows, std::int64_t cols,
                                  std::int64_t batch) {
  if (rows == 0 || cols == 0 || batch == 0) return 0;
  return (rows - 1) * operand.row_stride + (cols - 1) * operand.col_stride +
         (batch - 1) * operand.batch_stride + 1;
}

}  // namespace gemwright
