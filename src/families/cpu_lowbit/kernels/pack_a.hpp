// A's columns in the order of the packed weight.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"
#include "numeric/convert.hpp"

#include <cstring>

namespace gemwright::cpu_lowbit {

/// Calls put(packed column, value) for all columns, zero for those past K; load(i) is element i of
/// A.
template <typename Load, typename Put>
void for_columns(const Row& row, const Load& load, const Put& put) {
  const Weight& weight = *row.weight;
  for (std::int64_t k = 0; k < weight.k; ++k) {
    std::int64_t column = k;
    if (weight.format.ordered) {
      std::int32_t moved = 0;
      std::memcpy(&moved, weight.data + weight.layout.order + k * 4, 4);
      column = moved;
    }
    put(k, load(column * row.stride));
  }
  for (std::int64_t k = weight.k; k < weight.layout.tiles_k * formats::kTile; ++k) put(k, 0.0F);
}

/// The same with A of any type as fp32.
template <typename Put>
void for_columns(const Row& row, const Put& put) {
  switch (row.type) {
    case DataType::f32: {
      const auto* a = static_cast<const float*>(row.a);
      return for_columns(
          row, [a](std::int64_t i) { return a[i]; }, put);
    }
    case DataType::f16: {
      const auto* a = static_cast<const std::uint16_t*>(row.a);
      return for_columns(
          row, [a](std::int64_t i) { return numeric::from_f16(a[i]); }, put);
    }
    case DataType::bf16: {
      const auto* a = static_cast<const std::uint16_t*>(row.a);
      return for_columns(
          row, [a](std::int64_t i) { return numeric::from_bf16(a[i]); }, put);
    }
  }
}

}  // namespace gemwright::cpu_lowbit
