// Coded weights with every code, scale and zero point drawn at random.
#pragma once

#include "formats/codebooks.hpp"
#include "formats/groups.hpp"
#include "support/weight_formats.hpp"
#include <gemwright/weights.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <string_view>

namespace gemwright {

inline CodedWeight random_coded(std::string_view format, std::int64_t n, std::int64_t k,
                                unsigned seed = 1) {
  std::mt19937 random(seed);
  CodedWeight weight;
  weight.format = parse_weight_format(format);
  weight.n = n;
  weight.k = k;
  const unsigned codes = 1U << weight.format.bits;
  std::uniform_real_distribution<double> size(0.25, 4);
  weight.codes.resize(static_cast<std::size_t>(n * k));
  for (auto& code : weight.codes) code = static_cast<std::uint8_t>(random() % codes);
  weight.scales.resize(static_cast<std::size_t>(formats::Groups{weight.format, n, k}.count()));
  for (auto& scale : weight.scales) scale = formats::scale_bits(weight.format.scale, size(random));
  if (weight.format.zero != Zero::symmetric) weight.zeros.resize(weight.scales.size());
  for (auto& zero : weight.zeros) {
    zero = weight.format.zero == Zero::integer
               ? random() % codes
               : formats::scale_bits(weight.format.scale, size(random) * codes / 4);
  }
  if (weight.format.codes == Codes::learned) weight.table.resize(codes);
  if (weight.format.codes == Codes::learned_per_row) {
    weight.table.resize(static_cast<std::size_t>(n) * codes);
  }
  for (auto& entry : weight.table) entry = static_cast<float>(size(random) - 2);
  if (weight.format.ordered) {
    weight.order.resize(static_cast<std::size_t>(k));
    std::iota(weight.order.begin(), weight.order.end(), 0);
    std::shuffle(weight.order.begin(), weight.order.end(), random);
  }
  if (weight.format.global_scale) weight.global_scale = 0.37F;
  return weight;
}

}  // namespace gemwright
