// A weight into codes, some rows at a time.
#pragma once

#include "formats/groups.hpp"
#include "formats/quantise/group_coder.hpp"
#include "formats/quantise/source.hpp"
#include <gemwright/weights.hpp>

#include <cstdint>
#include <vector>

namespace gemwright::formats {

/// Reads W for what the whole tensor shares (its scale, the global scale, a learned codebook) when
/// constructed, and once more in slices. W and the second moments must outlive it. Throws
/// InvalidArgument for a format with an order, sizes that do not fit, and numbers that are not
/// finite. The result does not depend on the number of threads.
class Quantiser {
 public:
  Quantiser(const WeightFormat& format, std::int64_t n, std::int64_t k, DataType type,
            const void* w, const QuantiseOptions& options);

  /// Slices begin at multiples of it: 64 rows of tiles, and no group across two slices.
  std::int64_t slice_rows() const;

  /// Rows [first, first + count) as a weight of their own. On all cores.
  CodedWeight rows(std::int64_t first, std::int64_t count) const;

 private:
  Groups groups_;
  Source source_;
  GroupScale tensor_;  // where the tensor is the group
  float global_ = 1.0F;
  std::vector<float> table_;
};

}  // namespace gemwright::formats
