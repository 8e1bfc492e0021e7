// Which scale an element of W[N,K] has, in the order in which CodedWeight keeps them.
#pragma once

#include "formats/packed_layout.hpp"
#include <gemwright/weight_format.hpp>

#include <cstdint>

namespace gemwright::formats {

/// The scales of W, and where each row's are.
struct Groups {
  WeightFormat format;
  std::int64_t n = 0;
  std::int64_t k = 0;

  std::int64_t count() const {
    if (n == 0 || k == 0) return 0;
    switch (format.grouping) {
      case Grouping::along_k:
        return n * ceil_div(k, format.group);
      case Grouping::row:
        return n;
      case Grouping::tensor:
        return 1;
      case Grouping::flat:
        return ceil_div(n * k, format.group);
      case Grouping::block:
        return ceil_div(n, format.group) * ceil_div(k, format.group);
    }
    return 0;
  }

  /// The scale of column 0 of a row. That of column j comes (j + phase) / group_columns later.
  std::int64_t first(std::int64_t row) const {
    switch (format.grouping) {
      case Grouping::along_k:
        return row * ceil_div(k, format.group);
      case Grouping::row:
        return row;
      case Grouping::tensor:
        return 0;
      case Grouping::flat:
        return row * k / format.group;
      case Grouping::block:
        return row / format.group * ceil_div(k, format.group);
    }
    return 0;
  }

  /// Scales that touch the row.
  std::int64_t of_row(std::int64_t row) const {
    return ceil_div(phase(format, row, k) + k, group_columns(format, k));
  }
};

}  // namespace gemwright::formats
