#include "formats/import/column_groups.hpp"
#include "formats/import/import.hpp"

#include <array>

namespace gemwright::formats {
namespace {

// Nibble of a word, from the lowest on, in which column n mod 8 stands.
constexpr std::array<int, 8> kNibble{0, 4, 1, 5, 2, 6, 3, 7};

std::uint32_t field(const RawTensor& words, std::int64_t line, std::int64_t n) {
  const std::uint32_t word = words.bits(line * words.shape[1] + n / 8);
  return (word >> (4 * kNibble[static_cast<std::size_t>(n % 8)])) & 15U;
}

}  // namespace

CodedWeight import_awq(const Parts& parts) {
  const RawTensor& qweight = parts.get("qweight", "I32", 2);
  const RawTensor& qzeros = parts.get("qzeros", "I32", 2);
  const RawTensor& scales = parts.numbers("scales", 2);
  CodedWeight weight;
  weight.k = qweight.shape[0];
  weight.n = qweight.shape[1] * 8;
  const std::int64_t groups = scales.shape[0];
  require_shape(scales, {groups, weight.n});
  require_shape(qzeros, {groups, weight.n / 8});
  weight.format.zero = Zero::integer;
  weight.format.scale = scale_type_of(scales);
  set_groups(weight.format, weight.k, groups, {}, scales.name);

  weight.codes.resize(static_cast<std::size_t>(weight.n * weight.k));
  for (std::int64_t column = 0; column < weight.k; ++column) {
    for (std::int64_t row = 0; row < weight.n; ++row) {
      weight.codes[static_cast<std::size_t>(row * weight.k + column)] =
          static_cast<std::uint8_t>(field(qweight, column, row));
    }
  }
  weight.scales = transposed(scale_bits_of(scales), groups, weight.n);
  for (std::int64_t row = 0; row < weight.n; ++row) {
    for (std::int64_t group = 0; group < groups; ++group) {
      weight.zeros.push_back(field(qzeros, group, row));
    }
  }
  simplify_zeros(weight);
  return weight;
}

}  // namespace gemwright::formats
