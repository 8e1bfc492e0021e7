#include "formats/import/column_groups.hpp"
#include "formats/import/import.hpp"
#include <gemwright/errors.hpp>

namespace gemwright::formats {
namespace {

// K / 32 times `bits` words of a column.
int bits_of(const RawTensor& qweight, const Parts& parts, const ImportOptions& options) {
  if (options.bits > 0 || !parts.has("g_idx")) return options.bits > 0 ? options.bits : 4;
  const std::int64_t k = parts.get("g_idx", "I32", 1).elements();
  return k > 0 ? static_cast<int>(qweight.shape[0] * 32 / k) : 4;
}

}  // namespace

CodedWeight import_gptq(const Parts& parts, const ImportOptions& options, bool version_2) {
  const RawTensor& qweight = parts.get("qweight", "I32", 2);
  const RawTensor& qzeros = parts.get("qzeros", "I32", 2);
  const RawTensor& scales = parts.numbers("scales", 2);
  CodedWeight weight;
  weight.format.bits = bits_of(qweight, parts, options);
  weight.format.zero = Zero::integer;
  weight.format.scale = scale_type_of(scales);
  const int bits = weight.format.bits;
  if (bits < 2 || bits > 8) {
    throw InvalidArgument(qweight.name, std::to_string(bits) + " bits", "2, 3, 4 or 8");
  }
  weight.n = qweight.shape[1];
  weight.k = qweight.shape[0] * 32 / bits;
  const std::int64_t groups = scales.shape[0];
  set_groups(weight.format, weight.k, groups, options, scales.name);
  weight.format.check();
  require_shape(scales, {groups, weight.n});
  require_shape(qzeros, {groups, weight.n * bits / 32});
  if (weight.n * bits % 32 != 0 || weight.k * bits % 32 != 0) {
    throw InvalidArgument(qweight.name + ".shape", "sizes that words of 32 bits do not hold evenly",
                          "N and K that are multiples of 32 codes' bits");
  }

  weight.codes.resize(static_cast<std::size_t>(weight.n * weight.k));
  for (std::int64_t row = 0; row < weight.n; ++row) {
    for (std::int64_t column = 0; column < weight.k; ++column) {
      weight.codes[static_cast<std::size_t>(row * weight.k + column)] =
          static_cast<std::uint8_t>(stream_field(qweight, row, weight.n, column, bits));
    }
  }
  weight.scales = transposed(scale_bits_of(scales), groups, weight.n);
  const std::uint32_t mask = (1U << bits) - 1;
  for (std::int64_t row = 0; row < weight.n; ++row) {
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::uint32_t stored = stream_field(qzeros, group * qzeros.shape[1], 1, row, bits);
      weight.zeros.push_back(version_2 ? stored : (stored + 1) & mask);
    }
  }
  simplify_zeros(weight);
  if (parts.has("g_idx")) apply_order(weight, parts.get("g_idx", "I32", 1));
  return weight;
}

}  // namespace gemwright::formats
