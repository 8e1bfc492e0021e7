// A packed weight read element by element, as slowly and plainly as its definition.
#pragma once

#include "formats/packed_layout.hpp"
#include <gemwright/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace gemwright::formats {

/// Allocates nothing. The memory must outlive it.
class PackedReader {
 public:
  /// Entries of codebooks are rounded to `entries`.
  PackedReader(const void* packed, const WeightFormat& format, std::int64_t n, std::int64_t k,
               DataType entries);

  /// The weight in a row and a packed column.
  double value(std::int64_t row, std::int64_t column) const;

  /// The column of W, and so of A, that a packed column is.
  std::int64_t column_of(std::int64_t packed_column) const;

 private:
  std::uint32_t code(std::int64_t row, std::int64_t column) const;
  double entry(std::int64_t row, std::uint32_t code) const;

  const std::byte* packed_;
  WeightFormat format_;
  std::int64_t k_;
  PackedLayout layout_;
  DataType entries_;
  float global_scale_ = 1.0F;
  std::array<double, 256> values_{};  // of the codes, unless each row has its own
};

}  // namespace gemwright::formats
