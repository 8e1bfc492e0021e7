#include "formats/quantise/group_coder.hpp"

#include "formats/codebooks.hpp"
#include "numeric/convert.hpp"
#include "numeric/minifloat.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gemwright::formats {
namespace {

// Exponent of the largest number of a float code, for the scale rule of OCP MX 1.0, section 6.3.
int largest_exponent(Codes codes) {
  if (codes == Codes::e2m1) return 2;
  return codes == Codes::e4m3 ? 8 : 15;
}

bool is_float(Codes codes) {
  return codes == Codes::e2m1 || codes == Codes::e4m3 || codes == Codes::e5m2;
}

std::span<const float> entries_of(const WeightFormat& format, std::span<const float> table) {
  const auto fixed = fixed_codebook(format);
  return fixed.empty() ? table : fixed;
}

std::uint32_t bits_of(ScaleType type, double scale) {
  constexpr double kLargestHalf = 65504;
  return scale_bits(type, type == ScaleType::f16 ? std::min(scale, kLargestHalf) : scale);
}

}  // namespace

NearestEntry::NearestEntry(std::span<const float> entries) : codes_(entries.size()) {
  std::iota(codes_.begin(), codes_.end(), std::uint8_t{0});
  std::stable_sort(codes_.begin(), codes_.end(),
                   [entries](std::uint8_t a, std::uint8_t b) { return entries[a] < entries[b]; });
  for (std::size_t i = 1; i < codes_.size(); ++i) {
    const auto sum =
        static_cast<double>(entries[codes_[i - 1]]) + static_cast<double>(entries[codes_[i]]);
    midpoints_.push_back(sum / 2);
  }
}

std::uint8_t NearestEntry::operator()(double value) const {
  const auto above = std::lower_bound(midpoints_.begin(), midpoints_.end(), value);
  return codes_[static_cast<std::size_t>(above - midpoints_.begin())];
}

double reach(const WeightFormat& format) {
  switch (format.codes) {
    case Codes::integer:
      return ((1 << format.bits) - 1) / 2.0;
    case Codes::e2m1:
      return 6;
    case Codes::e4m3:
      return 448;
    case Codes::e5m2:
      return 57344;
    case Codes::normal_float:
    case Codes::fp4:
    case Codes::learned:
    case Codes::learned_per_row:
      return 1;
  }
  return 1;
}

GroupCoder::GroupCoder(const WeightFormat& format, std::span<const float> table, double global)
    : format_(format),
      global_(global),
      values_(code_values(format)),
      nearest_entry_(has_codebook(format) ? entries_of(format, table) : std::span<const float>{}) {
  if (values_.empty()) values_.assign(table.begin(), table.end());
}

GroupCoder::Range GroupCoder::range_of(std::span<const float> values) {
  Range range;
  for (const float value : values) {
    range.low = std::min(range.low, static_cast<double>(value));
    range.high = std::max(range.high, static_cast<double>(value));
  }
  return range;
}

GroupScale GroupCoder::scale_for(Range range, double shrink) const {
  const ScaleType type = format_.scale;
  if (format_.zero != Zero::symmetric) {
    const double levels = (1 << format_.bits) - 1;
    const std::uint32_t scale = bits_of(type, shrink * (range.high - range.low) / levels / global_);
    const double step = scale_value(type, scale) * global_;
    const double zero = step > 0 ? -shrink * range.low / step : 0;
    if (format_.zero == Zero::real) return {scale, bits_of(type, zero)};
    return {scale, static_cast<std::uint32_t>(std::clamp(std::nearbyint(zero), 0.0, levels))};
  }
  const double largest = shrink * std::max(-range.low, range.high) / global_;
  if (type == ScaleType::e8m0 && is_float(format_.codes) && largest > 0) {
    const int exponent = std::ilogb(largest) - largest_exponent(format_.codes);
    return {static_cast<std::uint32_t>(std::clamp(exponent + 127, 0, 254)), 0};
  }
  return {bits_of(type, largest / reach(format_)), 0};
}

GroupScale GroupCoder::scale_of(std::span<const float> values,
                                std::span<const float> importances) const {
  const Range range = range_of(values);
  GroupScale best = scale_for(range, 1);
  if (importances.empty()) return best;
  double least = error(values, importances, best);
  for (int step = 15; step >= 8; --step) {
    const GroupScale scale = scale_for(range, step / 16.0);
    const double found = error(values, importances, scale);
    if (found >= least) continue;
    least = found;
    best = scale;
  }
  return best;
}

double GroupCoder::zero_value(GroupScale scale) const {
  if (format_.zero == Zero::symmetric) return 0;
  return format_.zero == Zero::integer ? static_cast<double>(scale.zero)
                                       : scale_value(format_.scale, scale.zero);
}

// `value` is in units of the scale.
std::uint8_t GroupCoder::nearest(double value, double zero) const {
  switch (format_.codes) {
    case Codes::integer: {
      const double offset =
          format_.zero == Zero::symmetric ? static_cast<double>(1 << (format_.bits - 1)) : zero;
      // Integer offsets leave ties to even where they are; a real one is a part of the number.
      const double code = format_.zero == Zero::real ? std::nearbyint(value + offset)
                                                     : std::nearbyint(value) + offset;
      return static_cast<std::uint8_t>(std::clamp(code, 0.0, (1 << format_.bits) - 1.0));
    }
    case Codes::e2m1:
      return numeric::to_e2m1(numeric::to_float_odd(value));
    case Codes::e4m3:
      return numeric::to_e4m3(numeric::to_float_odd(value));
    case Codes::e5m2:
      return numeric::to_e5m2(numeric::to_float_odd(value));
    case Codes::normal_float:
    case Codes::fp4:
    case Codes::learned:
    case Codes::learned_per_row:
      return nearest_entry_(value);
  }
  return 0;
}

void GroupCoder::code(std::span<const float> values, GroupScale scale, std::uint8_t* codes) const {
  const double step = scale_value(format_.scale, scale.scale) * global_;
  const double zero = zero_value(scale);
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = nearest(step > 0 ? static_cast<double>(values[i]) / step : 0.0, zero);
  }
}

double GroupCoder::error(std::span<const float> values, std::span<const float> importances,
                         GroupScale scale) const {
  const double step = scale_value(format_.scale, scale.scale) * global_;
  const double zero = zero_value(scale);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    const std::uint8_t code = nearest(step > 0 ? value / step : 0.0, zero);
    const double error = value - (values_[code] - zero) * step;
    sum += static_cast<double>(importances[i]) * error * error;
  }
  return sum;
}

}  // namespace gemwright::formats
