// The codes of one group: its scale, its zero point, and the nearest code of each value.
#pragma once

#include <gemwright/weight_format.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gemwright::formats {

/// What a group's codes are relative to, as CodedWeight keeps it.
struct GroupScale {
  std::uint32_t scale = 0;
  std::uint32_t zero = 0;
};

/// The nearest entry of a codebook, by the midpoints of its sorted entries.
class NearestEntry {
 public:
  explicit NearestEntry(std::span<const float> entries);
  std::uint8_t operator()(double value) const;

 private:
  std::vector<double> midpoints_;
  std::vector<std::uint8_t> codes_;  // of the sorted entries
};

/// Codes groups of a format. Stateless after construction; safe from many threads.
class GroupCoder {
 public:
  /// `table` are the entries of a learned codebook; `global` the tensor's global scale.
  GroupCoder(const WeightFormat& format, std::span<const float> table, double global);

  /// The scale that leaves nothing outside of what codes reach. With importances (one for each
  /// value, or none) the smaller scales down to half of it are tried too, and the one of least
  /// weighted squared error is taken.
  GroupScale scale_of(std::span<const float> values, std::span<const float> importances) const;

  /// The nearest code of each value.
  void code(std::span<const float> values, GroupScale scale, std::uint8_t* codes) const;

 private:
  struct Range {
    double low = 0;
    double high = 0;
  };
  static Range range_of(std::span<const float> values);
  GroupScale scale_for(Range range, double shrink) const;
  std::uint8_t nearest(double value, double zero) const;
  double error(std::span<const float> values, std::span<const float> importances,
               GroupScale scale) const;
  double zero_value(GroupScale scale) const;

  WeightFormat format_;
  double global_;
  std::vector<double> values_;  // of the codes
  NearestEntry nearest_entry_;
};

/// The largest magnitude that a code reaches with a scale of 1.
double reach(const WeightFormat& format);

}  // namespace gemwright::formats
