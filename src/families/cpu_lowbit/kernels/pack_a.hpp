// A's columns in the order of the packed weight.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"
#include "numeric/convert.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace gemwright::cpu_lowbit {

/// Calls put(tile, values) for all tiles of K: 64 columns as fp32, zero for those past K; load(i)
/// is element i of A.
template <typename Load, typename Put>
void for_tiles(const Row& row, const Load& load, const Put& put) {
  const Weight& weight = *row.weight;
  const std::byte* order = weight.data + weight.layout.order;
  std::array<float, formats::kTile> values;
  for (std::int64_t tile = 0; tile < weight.layout.tiles_k; ++tile) {
    const std::int64_t first = tile * formats::kTile;
    const std::int64_t count = std::min(formats::kTile, weight.k - first);
    if (count < formats::kTile) values = {};
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t column = first + i;
      if (row.ordered) {
        std::int32_t moved = 0;
        std::memcpy(&moved, order + column * 4, 4);
        column = moved;
      }
      values[static_cast<std::size_t>(i)] = load(column * row.stride);
    }
    put(tile, values);
  }
}

/// The same with A of any type.
template <typename Put>
void for_tiles(const Row& row, const Put& put) {
  switch (row.type) {
    case DataType::f32: {
      const auto* a = static_cast<const float*>(row.a);
      return for_tiles(
          row, [a](std::int64_t i) { return a[i]; }, put);
    }
    case DataType::f16: {
      const auto* a = static_cast<const std::uint16_t*>(row.a);
      return for_tiles(
          row, [a](std::int64_t i) { return numeric::from_f16(a[i]); }, put);
    }
    case DataType::bf16: {
      const auto* a = static_cast<const std::uint16_t*>(row.a);
      return for_tiles(
          row, [a](std::int64_t i) { return numeric::from_bf16(a[i]); }, put);
    }
  }
}

}  // namespace gemwright::cpu_lowbit
