// W cut into runs of whole groups, which threads take one by one.
#pragma once

#include "formats/groups.hpp"
#include "formats/quantise/group_coder.hpp"
#include "formats/quantise/source.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gemwright::formats {

/// Elements [at, at + count) of W read as one line, in groups of `group` from the scale `scale` on.
/// Of square blocks: the rows of one line of blocks.
struct Run {
  std::int64_t at = 0;
  std::int64_t count = 0;
  std::int64_t group = 0;
  std::int64_t scale = 0;
};

/// A row where groups end with it; else some flat blocks; else a line of square blocks. `groups`
/// are those of a weight that begins with the first row of the slice.
class Runs {
 public:
  explicit Runs(const Groups& groups) : groups_(groups) {
    const std::int64_t group = groups.format.group;
    if (groups.format.grouping == Grouping::flat) length_ = group * kFlatBlocks;
    if (groups.format.grouping == Grouping::block) length_ = group * groups.k;
    if (length_ == 0) length_ = groups.k;
  }

  std::int64_t size() const { return length_ > 0 ? ceil_div(groups_.n * groups_.k, length_) : 0; }

  Run operator[](std::int64_t index) const {
    const std::int64_t at = index * length_;
    return {.at = at,
            .count = std::min(length_, groups_.n * groups_.k - at),
            .group = group_columns(groups_.format, groups_.k),
            .scale = groups_.format.grouping == Grouping::flat ? index * kFlatBlocks
                                                               : groups_.first(at / groups_.k)};
  }

 private:
  static constexpr std::int64_t kFlatBlocks = 64;

  Groups groups_;
  std::int64_t length_ = 0;
};

/// The values of a run, group by group: those of a group are adjacent.
struct RunValues {
  std::vector<float> values;
  std::vector<float> importances;  // empty where nothing is weighted

  void read(const Source& source, std::int64_t at, std::int64_t count) {
    values.resize(static_cast<std::size_t>(count));
    source.read(at, values);
    if (!source.weighted()) return;
    importances.resize(values.size());
    source.importances(at, importances);
  }

  std::span<const float> group(std::int64_t begin, std::int64_t size) const {
    const auto from = static_cast<std::size_t>(begin);
    return {values.data() + from, std::min(static_cast<std::size_t>(size), values.size() - from)};
  }
  std::span<const float> group_importances(std::int64_t begin, std::int64_t size) const {
    if (importances.empty()) return {};
    return {importances.data() + begin, group(begin, size).size()};
  }
};

}  // namespace gemwright::formats
