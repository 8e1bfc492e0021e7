// Coded weights with every code, scale and zero point drawn at random.
#pragma once

#include "formats/codebooks.hpp"
#include "formats/groups.hpp"
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

/// One format of every kind of codes, grouping, scale and zero point.
inline constexpr std::string_view kManyFormats[] = {
    "nf4:g64:bf16",    "nf3:g32:f16",      "nf2:row:f32",         "fp4:flat64:f32",
    "int4:g128:f16",   "int4z:g128:f16",   "int4z:g32:f16:order", "int3z:g64:bf16",
    "int3r:g64:f16",   "int2:g16:bf16",    "int8:row:f32",        "int8z:g256:f32",
    "int8:tensor:f32", "e2m1:g32:e8m0",    "e2m1:g16:e4m3*f32",   "e4m3:g32:e8m0",
    "e5m2:g32:e8m0",   "e4m3:128x128:f32", "e4m3:row:f32",        "lut4:g64:f16",
    "lut3:g128:bf16",  "rowlut4:row:f16",  "rowlut2:g64:f32",     "lut8:g64:f32",
    "nf4:flat256:f32",
};

}  // namespace gemwright
