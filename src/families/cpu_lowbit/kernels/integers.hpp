// Codes as unsigned integers, multiplied with activations of 8 bits: for any instruction set.
// Included by one file for each.
#pragma once

#include "families/cpu_lowbit/kernels/decode.hpp"
#include "families/cpu_lowbit/kernels/table.hpp"
#include "numeric/activations.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gemwright::cpu_lowbit {
namespace {

// What codes are as unsigned integers: w = (unit - zero) * factor * scale, unless a group has a
// zero point of its own.
struct Units {
  bool looked_up;  // else a code is its unit
  std::int32_t zero;
  float factor;

  explicit Units(const WeightFormat& format)
      : looked_up(format.codes != Codes::integer),
        zero(looked_up ? 12 : 1 << (format.bits - 1)),
        factor(looked_up ? 0.5F : 1.0F) {}
};

// Of E2M1, which counts in halves: 0, 1, 2, 3, 4, 6, 8 and 12 of either sign, from 12.
constexpr std::array<std::uint8_t, 16> kE2m1Units{12, 13, 14, 15, 16, 18, 20, 24,
                                                  12, 11, 10, 9,  8,  6,  4,  0};

void begin_block(const Weight& weight, std::int64_t begin, std::int64_t end, CodeBlock& block) {
  block.columns = (end - begin) * kTile;
  block.segment = segment_columns(weight.format, weight.k);
}

void decode_numbers(const Weight& weight, std::int64_t tile_row, std::int64_t begin,
                    const Units& units, CodeBlock& block) {
  const Scales scales(weight, tile_row);
  const std::int64_t columns = formats::group_columns(weight.format, weight.k);
  std::size_t at = 0;
  for (std::int64_t column = 0; column < block.columns; column += block.segment) {
    const std::int64_t group = (begin * kTile + column) / columns;
    for (std::int64_t row = 0; row < kTile; ++row, ++at) {
      block.scales[at] = scales.scale(row, group) * units.factor;
      block.zeros[at] = weight.format.zero == Zero::symmetric
                            ? units.zero
                            : static_cast<std::int32_t>(scales.zero(row, group));
    }
  }
}

// A quarter's 16 rows of a tile.
void place_codes(const PanelCodes& codes, const Units& units, std::uint8_t* out) {
  for (std::int64_t place = 0; place < 16; ++place, out += kTile * 4) {
    for (std::int64_t row = 0; row < kPanelRows; ++row) {
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::uint8_t code =
            codes[static_cast<std::size_t>(row * kTile + integer_column(place, i))];
        out[row * 4 + i] = units.looked_up ? kE2m1Units[code] : code;
      }
    }
  }
}

inline void decode_block(const Weight& weight, std::int64_t tile_row, std::int64_t begin,
                         std::int64_t end, CodeBlock& block) {
  const Units units(weight.format);
  begin_block(weight, begin, end, block);
  decode_numbers(weight, tile_row, begin, units, block);
  PanelCodes codes;
  std::uint8_t* out = block.codes.data();
  for (std::int64_t tile = begin; tile < end; ++tile, out += kTile * kTile) {
    const std::byte* data = weight.data + weight.layout.codes +
                            (tile_row * weight.layout.tiles_k + tile) * weight.layout.tile_bytes;
    for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
      unpack_panel(weight.format, data, quarter, codes);
      place_codes(codes, units, out + quarter * kPanelRows * 4);
    }
  }
}

inline float round_row(float* row, std::int64_t k, const IntegerRow& layout, std::byte* out) {
  const float scale =
      numeric::round_activations(Activations::int8, {row, static_cast<std::size_t>(k)});
  auto* packed = reinterpret_cast<std::int8_t*>(out);
  auto* minus_sums = reinterpret_cast<std::int32_t*>(out + layout.columns);
  std::fill_n(minus_sums, formats::ceil_div(layout.columns, layout.segment), 0);
  for (std::int64_t first = 0; first < layout.columns; first += kTile) {
    std::array<std::int8_t, kTile> tile{};
    const std::int64_t count = std::min(kTile, k - first);
    for (std::int64_t i = 0; i < count; ++i) {
      tile[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(row[first + i]);
    }
    for (std::int64_t step = 0; step < kTile; step += 16) {
      std::int32_t sum = 0;
      for (std::int64_t i = 0; i < 16; ++i) sum += tile[static_cast<std::size_t>(step + i)];
      minus_sums[(first + step) / layout.segment] -= sum;
    }
    for (std::int64_t i = 0; i < kTile; ++i) {
      packed[first + i] = tile[static_cast<std::size_t>(integer_column(i / 4, i % 4))];
    }
  }
  return scale;
}

// Calls each(first place, places, number) for the segments of a block; the last may be short.
template <typename Each>
void for_segments(const CodeBlock& block, const Each& each) {
  std::int64_t number = 0;
  for (std::int64_t column = 0; column < block.columns; column += block.segment, ++number) {
    each(column / 4, std::min(block.segment, block.columns - column) / 4, number);
  }
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
