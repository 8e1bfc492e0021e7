#include "formats/row_decoder.hpp"

#include "formats/codebooks.hpp"
#include "numeric/convert.hpp"

#include <algorithm>

namespace gemwright::formats {
namespace {

double rounded(double value, DataType type) {
  std::uint32_t bits = 0;
  numeric::store(type, &bits, 0, value);
  return numeric::load(type, &bits, 0);
}

}  // namespace

RowDecoder::RowDecoder(const CodedWeight& weight, DataType entries)
    : weight_(weight),
      groups_{weight.format, weight.n, weight.k},
      values_(code_values(weight.format)) {
  if (values_.empty()) values_.assign(weight.table.begin(), weight.table.end());
  if (!has_codebook(weight.format)) return;
  for (double& value : values_) value = rounded(value, entries);
}

const double* RowDecoder::entries_of(std::int64_t row) const {
  const bool own = weight_.format.codes == Codes::learned_per_row;
  return values_.data() + (own ? row << weight_.format.bits : 0);
}

double RowDecoder::zero_at(std::int64_t scale) const {
  if (weight_.zeros.empty()) return 0;
  const std::uint32_t zero = weight_.zeros[static_cast<std::size_t>(scale)];
  return weight_.format.zero == Zero::integer ? static_cast<double>(zero)
                                              : scale_value(weight_.format.scale, zero);
}

void RowDecoder::decode(std::int64_t row, double* out) const {
  const std::int64_t columns = group_columns(weight_.format, weight_.k);
  const std::int64_t shift = phase(weight_.format, row, weight_.k);
  const std::uint8_t* codes = weight_.codes.data() + row * weight_.k;
  const double* entries = entries_of(row);
  const auto global = static_cast<double>(weight_.global_scale);
  std::int64_t column = 0;
  for (std::int64_t group = 0; column < weight_.k; ++group) {
    const std::int64_t end = std::min((group + 1) * columns - shift, weight_.k);
    const std::int64_t at = groups_.first(row) + group;
    const std::uint32_t bits = weight_.scales[static_cast<std::size_t>(at)];
    const double scale = scale_value(weight_.format.scale, bits) * global;
    const double zero = zero_at(at);
    for (; column < end; ++column) {
      const std::int64_t to =
          weight_.order.empty() ? column : weight_.order[static_cast<std::size_t>(column)];
      out[to] = (entries[codes[column]] - zero) * scale;
    }
  }
}

}  // namespace gemwright::formats
