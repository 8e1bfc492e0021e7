// Codebooks learned from the weight itself.
#pragma once

#include "formats/quantise/group_coder.hpp"
#include "formats/quantise/runs.hpp"

#include <vector>

namespace gemwright::formats {

/// The best codebook of 2^bits entries for all values of W over their groups' scales: of least
/// squared error of W, weighted by the importances. Values are first rounded to multiples of 2^-15
/// of their scale, and the rest is exact. `groups` are those of the whole weight, `tensor` its one
/// scale or null. On all cores.
std::vector<float> learn_table(const Groups& groups, const Source& source, double global,
                               const GroupScale* tensor);

/// The same for one row alone, without rounding; `scales` are those of its groups.
std::vector<float> learn_row(const WeightFormat& format, const RunValues& row, std::int64_t group,
                             std::span<const GroupScale> scales, double global);

}  // namespace gemwright::formats
