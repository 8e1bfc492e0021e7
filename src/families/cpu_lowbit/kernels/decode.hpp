// Any weight format, decoded into panels code by code. Included by one file for each instruction
// set.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"
#include "formats/codebooks.hpp"
#include "numeric/convert.hpp"

#include <algorithm>
#include <cstring>

namespace gemwright::cpu_lowbit {
namespace {

using formats::kTile;

// Codes of a panel's rows in one tile, [row][column].
using PanelCodes = std::array<std::uint8_t, kPanelRows * kTile>;
// Byte * 8 + shift of each, from the first byte of the rows' part of a plane.
using Places = std::array<std::uint16_t, kPanelRows * kTile>;

const Places& places_of(int plane_bits, bool paired) {
  const auto all = [](int bits, bool pairs) {
    Places places;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const formats::CodePlace place = formats::code_place(bits, pairs, at / kTile, at % kTile);
      places[i] = static_cast<std::uint16_t>(place.byte * 8 + place.shift);
    }
    return places;
  };
  static const std::array<Places, 6> places{all(1, false), all(1, true), all(2, false),
                                            all(2, true),  all(4, true), all(8, true)};
  if (plane_bits == 8) return places[5];
  return plane_bits == 4 ? places[4] : places[(plane_bits == 2 ? 2U : 0U) + (paired ? 1U : 0U)];
}

// The 16 rows from 16 * quarter on of a plane whose codes are bits [from, from + plane_bits).
void add_plane(const std::byte* plane, int plane_bits, bool paired, std::int64_t quarter, int from,
               PanelCodes& codes) {
  const Places& places = places_of(plane_bits, paired);
  const std::byte* part = plane + 128 * std::min(plane_bits, 4) * quarter;
  const unsigned mask = (1U << plane_bits) - 1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const unsigned bits = static_cast<unsigned>(part[places[i] / 8]) >> (places[i] % 8) & mask;
    codes[i] |= static_cast<std::uint8_t>(bits << from);
  }
}

void unpack_panel(const WeightFormat& format, const std::byte* tile, std::int64_t quarter,
                  PanelCodes& codes) {
  constexpr std::int64_t kLowPlane = 1024;  // bytes of 3-bit codes' low two bits
  codes = {};
  const bool paired = formats::paired(format);
  if (format.bits != 3) return add_plane(tile, format.bits, paired, quarter, 0, codes);
  add_plane(tile, 2, paired, quarter, 0, codes);
  add_plane(tile + kLowPlane, 1, paired, quarter, 2, codes);
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

// One row of W in one tile, of the columns that it has: every 16th number from `out` on.
void decode_row(const Weight& weight, const Scales& scales, std::int64_t n, std::int64_t tile,
                const std::uint8_t* codes, float* out) {
  std::array<float, 256> own;
  const float* entries = entries_of(weight, n, own);
  const std::int64_t columns = formats::group_columns(weight.format, weight.k);
  const std::int64_t shift = formats::phase(weight.format, n, weight.k) + tile * kTile;
  const std::int64_t width = std::min(kTile, weight.k - tile * kTile);
  for (std::int64_t begin = 0; begin < width;) {
    const std::int64_t group = (shift + begin) / columns;
    const std::int64_t end = std::min((group + 1) * columns - shift, width);
    const float zero = scales.zero(n % kTile, group);
    const float scale = scales.scale(n % kTile, group);
    for (std::int64_t k = begin; k < end; ++k) {
      out[k * kPanelRows] = (entries[codes[k]] - zero) * scale;
    }
    begin = end;
  }
}

void decode_any(const Weight& weight, std::int64_t panel, std::int64_t begin, std::int64_t end,
                float* out) {
  const std::int64_t first = panel * kPanelRows;
  const std::int64_t tile_row = first / kTile;
  const Scales scales(weight, tile_row);
  const std::int64_t rows = std::min(kPanelRows, weight.n - first);
  PanelCodes codes;
  for (std::int64_t tile = begin; tile < end; ++tile, out += kTile * kPanelRows) {
    const std::byte* data = weight.data + weight.layout.codes +
                            (tile_row * weight.layout.tiles_k + tile) * weight.layout.tile_bytes;
    unpack_panel(weight.format, data, first % kTile / kPanelRows, codes);
    for (std::int64_t row = 0; row < rows; ++row) {
      decode_row(weight, scales, first + row, tile, codes.data() + row * kTile, out + row);
    }
  }
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
