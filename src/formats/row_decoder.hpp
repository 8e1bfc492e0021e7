// Rows of a coded weight as numbers.
#pragma once

#include "formats/groups.hpp"
#include <gemwright/weights.hpp>

#include <vector>

namespace gemwright::formats {

/// The definition of every format in one place: value = (entry or code - zero) * scale * global.
/// Exact in double but for real zero points and learned entries with a global scale. Entries of
/// codebooks are rounded to `entries` first. Safe from many threads; the weight must outlive it.
class RowDecoder {
 public:
  explicit RowDecoder(const CodedWeight& weight, DataType entries = DataType::f32);

  /// K values of a row, in W's own order of columns.
  void decode(std::int64_t row, double* out) const;

 private:
  double zero_at(std::int64_t scale) const;
  const double* entries_of(std::int64_t row) const;

  const CodedWeight& weight_;
  Groups groups_;
  std::vector<double> values_;  // of the codes; of every row where each has its own codebook
};

}  // namespace gemwright::formats
