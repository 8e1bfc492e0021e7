#include "families/cuda_lowbit/wide_setting.hpp"

#include "families/cuda_common/hopper_output.hpp"
#include "families/cuda_lowbit/weight.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gemwright::cuda_lowbit {

WideSetting wide_setting_of(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.cols = v[0],
          .stages = v[1],
          .consumers = v[2],
          .split = v[3],
          .stream_k = v[4] != 0,
          .group = v[5],
          .along_n = v[6] != 0,
          .lookup = v[7],
          .part = v[8],
          .across = v[9] != 0};
}

Configuration configuration_of(const WideSetting& s) {
  Configuration configuration;
  configuration.values = {s.cols,  s.stages,          s.consumers, s.split, s.stream_k ? 1 : 0,
                          s.group, s.along_n ? 1 : 0, s.lookup,    s.part,  s.across ? 1 : 0};
  return configuration;
}

std::string name_of(const WideSetting& s) {
  std::string name = fmt::format("lowbit_wide_{}x{}_s{}_g{}{}", s.rows(), s.cols, s.stages, s.group,
                                 s.along_n ? "n" : "m");
  if (s.across) name += fmt::format("_a{}", s.consumers);
  if (s.lookup > 0) name += s.lookup == 1 ? "_t" : "_h";
  if (s.part > 0) name += fmt::format("_p{}", s.part);
  if (s.stream_k) name += "_sk";
  if (s.split > 1) name += fmt::format("_k{}", s.split);
  return name;
}

bool may_look_up(const Problem& p) {
  const WeightFormat& format = *p.weight;
  return format.codes == Codes::integer && format.bits == 4 && format.zero == Zero::symmetric;
}

Scaling scaling_of(const Problem& p, int cols) {
  const WeightFormat& format = *p.weight;
  if (format.zero == Zero::real) return Scaling::sums;  // and of activations
  if (format.grouping == Grouping::row || format.grouping == Grouping::tensor) return Scaling::rows;
  // E2M1 has 2 significant bits and a range of 2^4; e8m0 scales have 1 bit, e4m3 ones 4. fp16 lacks
  // e8m0's range.
  const bool exact = format.codes == Codes::e2m1 &&
                     (format.scale == ScaleType::e4m3 ||
                      (format.scale == ScaleType::e8m0 && p.a.type == DataType::bf16));
  if (exact) return Scaling::weights;
  // Two scalings a column and group are few enough there to do without a second set of
  // accumulators.
  constexpr int kLeastInPlace = 96;
  const bool in_range = p.a.type == DataType::bf16 || format.scale == ScaleType::f16 ||
                        format.scale == ScaleType::e4m3;
  return cols >= kLeastInPlace && in_range ? Scaling::in_place : Scaling::sums;
}

int most_columns(const Problem& p, int consumers) {
  const Scaling scaling = scaling_of(p, 256);
  const bool sums = scaling == Scaling::sums;  // take a second set of accumulators
  if (p.weight->codes == Codes::learned_per_row && consumers > 2) return 0;
  if (p.weight->zero == Zero::real) return consumers == 2 ? 96 : consumers == 3 ? 48 : 16;
  if (scaling == Scaling::in_place) return consumers == 2 ? 256 : consumers == 3 ? 160 : 128;
  if (consumers == 4) return !sums ? 96 : p.weight->zero == Zero::symmetric ? 64 : 32;
  if (consumers == 3) return sums ? 96 : 128;
  return 256;
}

bool overlaps(const WideSetting& s, const Problem& p) {
  const Scaling scaling = scaling_of(p, s.cols);
  if (scaling == Scaling::in_place) return s.consumers < 4;
  const bool sums = scaling == Scaling::sums;
  const auto most = [&] {
    if (p.weight->zero == Zero::real) return s.consumers == 2 ? 64 : s.consumers == 3 ? 32 : 8;
    if (s.consumers == 4) return !sums ? 64 : p.weight->zero == Zero::symmetric ? 32 : 16;
    if (s.consumers == 3) return sums ? 64 : 128;
    return 256;
  };
  return s.part > 0 || s.cols <= most();
}

int part_columns(const Problem& p, int cols, int consumers) {
  if (scaling_of(p, cols) != Scaling::sums || p.weight->zero == Zero::real) return 0;
  if (consumers == 4) {
    const bool few = p.weight->bits <= 4 && p.weight->group == 64;
    return cols == 64 && few && p.weight->zero == Zero::symmetric ? 32 : 0;
  }
  switch (cols) {
    case 160:
      return 80;
    case 192:
      return 64;
    case 224:
      return 56;
    case 256:
      return 32;
    default:
      return 0;
  }
}

bool stores_by_copies(const WideSetting& s, const Problem& p) {
  return s.split == 1 && !s.across && s.cols % 16 == 0 && stores_transposed(p);
}

int chunk_columns(const WideSetting& s, const Problem& p) {
  return gemwright::chunk_columns(p.d.type, s.cols, p.c.has_value());
}

int shared_bytes(const WideSetting& s, const Problem& p) {
  const int weights = s.consumers * stage_bytes(p, s.depth());
  const int ring = s.stages * (s.cols * 2 * s.stage_columns() + weights);
  const int chunk = stores_by_copies(s, p) ? 64 * size_bytes(p.d.type) * chunk_columns(s, p) : 0;
  // Parts of a split K.
  const int units = s.rows() / 64 * s.cols / 8;
  const int others = s.split * (s.across ? s.consumers : 1) - 1;
  const int parts = (units + s.split - 1) / s.split * others * 2048;
  const int barriers = (2 * s.stages + 1) * 8 + s.consumers * 4;
  constexpr int kTable = 64 << 10;  // of 4-bit codes
  return (ring + 1023) / 1024 * 1024 + (s.lookup > 0 ? kTable : table_bytes(*p.weight)) +
         std::max(s.consumers * buffers(s) * chunk, parts) + barriers;
}

}  // namespace gemwright::cuda_lowbit
