// Any weight format, decoded to fp32 one tile at a time. Included by one file for each instruction
// set; its loops are written for the compiler's vectoriser.
#pragma once

#include "families/cpu_lowbit/kernels/pack_a.hpp"
#include "families/cpu_lowbit/kernels/table.hpp"
#include "formats/codebooks.hpp"
#include "formats/tiles.hpp"
#include "numeric/convert.hpp"

#include <algorithm>
#include <cstring>

namespace gemwright::cpu_lowbit {
namespace {

using formats::kTile;

constexpr int kLanes = 16;

void pack_row_f32(const Row& row) {
  auto* out = reinterpret_cast<float*>(row.out);
  for_columns(row, [out](std::int64_t k, float value) { out[k] = value; });
}

// Scales and zero points of a row of tiles.
struct Scales {
  const Weight& weight;
  std::int64_t first;  // place of the row of tiles
  std::int64_t together;

  Scales(const Weight& w, std::int64_t tile_row)
      : weight(w),
        first(tile_row * w.layout.groups * kTile),
        together(formats::groups_together(w.format, w.k)) {}

  float at(std::int64_t section, ScaleType type, std::int64_t row, std::int64_t group) const {
    const int size = formats::size_bytes(type);
    std::uint32_t bits = 0;
    std::memcpy(&bits,
                weight.data + section + (first + formats::scale_place(together, row, group)) * size,
                static_cast<std::size_t>(size));
    return static_cast<float>(formats::scale_value(type, bits));
  }
  float scale(std::int64_t row, std::int64_t group) const {
    return at(weight.layout.scales, weight.format.scale, row, group);
  }
  float zero(std::int64_t row, std::int64_t group) const {
    if (weight.format.zero == Zero::symmetric) return 0;
    if (weight.format.zero == Zero::real) {
      return at(weight.layout.zeros, weight.format.scale, row, group);
    }
    const std::int64_t place = first + formats::scale_place(together, row, group);
    return static_cast<float>(weight.data[weight.layout.zeros + place]);
  }
};

const float* entries_of(const Weight& weight, std::int64_t row, std::array<float, 256>& own) {
  if (weight.format.codes != Codes::learned_per_row) return weight.entries.data();
  const std::size_t count = std::size_t{1} << weight.format.bits;
  const std::byte* from =
      weight.data + weight.layout.table + row * static_cast<std::int64_t>(count) * 4;
  std::memcpy(own.data(), from, count * 4);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t rounded = 0;
    numeric::store(weight.entry_type, &rounded, 0, static_cast<double>(own[i]));
    own[i] = static_cast<float>(numeric::load(weight.entry_type, &rounded, 0));
  }
  return own.data();
}

// One row of a tile, columns [begin, end) of one group: entries less the zero point.
float dot(const float* w, const float* a, std::int64_t begin, std::int64_t end) {
  std::array<float, kLanes> lanes{};
  std::int64_t k = begin;
  for (; k + kLanes <= end; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto at = k + static_cast<std::int64_t>(lane);
      lanes[lane] += w[at] * a[at];
    }
  }
  float sum = 0;
  for (; k < end; ++k) sum += w[k] * a[k];
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return sum + lanes[0];
}

// Adds one tile's row to the sums of all rows of A.
void add_row(const Task& task, const Scales& scales, std::int64_t tile, std::int64_t row,
             const std::uint8_t* codes, const float* entries) {
  const Weight& weight = *task.weight;
  const std::int64_t columns = formats::group_columns(weight.format, weight.k);
  const std::int64_t shift =
      formats::phase(weight.format, task.tile_row * kTile + row, weight.k) + tile * kTile;
  const std::int64_t width = std::min(kTile, weight.k - tile * kTile);
  alignas(64) std::array<float, kTile> values;
  for (std::int64_t begin = 0; begin < width;) {
    const std::int64_t group = (shift + begin) / columns;
    const std::int64_t end = std::min((group + 1) * columns - shift, width);
    const float zero = scales.zero(row, group);
    const float scale = scales.scale(row, group);
    for (std::int64_t k = begin; k < end; ++k) {
      values[static_cast<std::size_t>(k)] = entries[codes[k]] - zero;
    }
    for (int m = 0; m < task.rows; ++m) {
      const auto* a = reinterpret_cast<const float*>(task.a + m * task.row_bytes) + tile * kTile;
      task.sums[m * kTile + row] += scale * dot(values.data(), a, begin, end);
    }
    begin = end;
  }
}

void multiply_decoded(const Task& task) {
  const Weight& weight = *task.weight;
  const Scales scales(weight, task.tile_row);
  const std::int64_t rows = std::min(kTile, weight.n - task.tile_row * kTile);
  std::fill(task.sums, task.sums + task.rows * kTile, 0.0F);
  std::array<std::uint8_t, kTile * kTile> codes;
  std::array<float, 256> own;
  for (std::int64_t tile = 0; tile < weight.layout.tiles_k; ++tile) {
    formats::unpack_tile(
        weight.format,
        weight.data + weight.layout.codes +
            (task.tile_row * weight.layout.tiles_k + tile) * weight.layout.tile_bytes,
        {}, codes.data(), kTile);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* entries = entries_of(weight, task.tile_row * kTile + row, own);
      add_row(task, scales, tile, row, codes.data() + row * kTile, entries);
    }
  }
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
