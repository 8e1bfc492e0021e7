#include "families/cpu_lowbit/weight.hpp"

#include "formats/codebooks.hpp"
#include "formats/packed_header.hpp"
#include "numeric/convert.hpp"

#include <array>
#include <cstddef>
#include <cstring>

namespace gemwright::cpu_lowbit {
namespace {

using formats::PackedHeader;

std::array<float, 256> entries_of(const WeightFormat& format, const formats::PackedLayout& layout,
                                  const std::byte* data, DataType type) {
  std::array<float, 256> entries{};
  if (format.codes == Codes::learned_per_row) return entries;
  const std::size_t count = std::size_t{1} << format.bits;
  if (!has_codebook(format)) {
    for (std::size_t code = 0; code < count; ++code) {
      entries[code] =
          static_cast<float>(formats::code_value(format, static_cast<std::uint8_t>(code)));
    }
    return entries;
  }
  std::memcpy(entries.data(), data + layout.table, count * 4);
  for (std::size_t code = 0; code < count; ++code) {
    std::uint32_t rounded = 0;
    numeric::store(type, &rounded, 0, static_cast<double>(entries[code]));
    entries[code] = static_cast<float>(numeric::load(type, &rounded, 0));
  }
  return entries;
}

}  // namespace

Weight weight_of(const Problem& problem, const Operands& operands) {
  Weight weight;
  weight.format = *problem.weight;
  weight.layout = formats::packed_layout(weight.format, problem.n, problem.k);
  weight.n = problem.n;
  weight.k = problem.k;
  weight.entry_type = problem.b.type;
  if (problem.k == 0) return weight;
  weight.data = static_cast<const std::byte*>(operands.b);
  weight.entries = entries_of(weight.format, weight.layout, weight.data, problem.b.type);
  return weight;
}

float global_scale_of(const Weight& weight) {
  float scale = 1.0F;
  if (weight.format.global_scale && weight.data != nullptr) {
    std::memcpy(&scale, weight.data + offsetof(PackedHeader, global_scale), 4);
  }
  return scale;
}

}  // namespace gemwright::cpu_lowbit
