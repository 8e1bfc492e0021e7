// 4-bit codes looked up by permutes in AVX-512 registers, streamed past up to 8 rows of A.
//
// 64 adjacent bytes of a tile are two rows of W (n and n + 8) over all of its 64 columns: dword 4 t
// + s has the bytes of columns 16 s + 2 t and the next (byte 0 of row n, byte 1 of row n + 8) and
// of those 8 further (bytes 2 and 3). A is packed in the same order, so that nothing is ever
// shuffled: a vector of codes becomes four vectors of entries, each multiplied with a vector of A,
// and all 16 lanes of a sum have partial sums of one element of D.
//
// The scale of a lane is that of columns 16 s ...: one number where groups hold whole tiles, else
// one of four.
#pragma once

#include "families/cpu_lowbit/kernels/scales.hpp"
#include "families/cpu_lowbit/kernels/table.hpp"

#include <algorithm>
#include <array>

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

using formats::kTile;

// The scales of the 64 rows of a tile: of a pair of rows (n, n + 8) one number each, or where a
// tile has several groups four each, those of columns 16 s ....
template <bool kFine>
class TileScales {
 public:
  TileScales(const Weight& weight, std::int64_t tile_row)
      : type_(weight.format.scale),
        together_(static_cast<int>(formats::groups_together(weight.format, weight.k))),
        columns_(formats::group_columns(weight.format, weight.k)),
        from_(weight.data + weight.layout.scales +
              tile_row * weight.layout.groups * kTile * formats::size_bytes(type_)),
        places_{places(0), places(1)} {}

  void load(std::int64_t tile) {
    const std::int64_t group = tile * kTile / columns_;
    if (group == group_) return;
    group_ = group;
    const int size = formats::size_bytes(type_);
    const std::byte* from = from_ + group * kTile * size;
    float* to = values_.data();
    if constexpr (!kFine) {
      for (int i = 0; i < kTile; i += 16) _mm512_store_ps(to + i, to_float(type_, from + i * size));
    } else {
      for (int i = 0; i < together_ * kTile; i += 16) {
        const __m512 some = to_float(type_, from + i * size);
        for (int j = 0; j < 4 / together_; ++j, to += 16) {
          _mm512_store_ps(to, _mm512_permutexvar_ps(places_[j], some));
        }
      }
    }
  }

  // Of row n, or n + 8.
  __m512 of(int pair, int high) const {
    const float* scale = values_.data() + (2 * pair + high) * kEach;
    if constexpr (kFine) return _mm512_broadcast_f32x4(_mm_load_ps(scale));
    return _mm512_set1_ps(*scale);
  }

 private:
  static constexpr int kEach = kFine ? 4 : 1;

  // From [pair][group][n, n + 8] to the vector-th 16 of [pair][n, n + 8][step of 16 columns].
  __m512i places(int vector) const {
    alignas(64) std::array<int, 16> from;
    for (int lane = 0; lane < 16; ++lane) {
      const int pair = 2 * vector + lane / 8;
      const int group = lane % 4 * together_ / 4;
      from[static_cast<std::size_t>(lane)] = 2 * (pair * together_ + group) + lane % 8 / 4;
    }
    return _mm512_load_si512(from.data());
  }

  const ScaleType type_;
  const int together_;
  const std::int64_t columns_;
  const std::byte* const from_;
  const __m512i places_[2];
  std::int64_t group_ = -1;
  alignas(64) std::array<float, 2 * 32 * kEach> values_;
};

// Lanes of a tile with columns below K. The others have sums of zeros, which an infinite scale
// would make NaN.
inline __mmask16 live_lanes(std::int64_t k, std::int64_t tile) {
  const std::int64_t columns = k - tile * kTile;
  if (columns >= kTile) return 0xFFFF;
  unsigned live = 0;
  for (int lane = 0; lane < 16; ++lane) {
    if (16 * (lane % 4) + 2 * (lane / 4) < columns) live |= 1U << lane;
  }
  return static_cast<__mmask16>(live);
}

// One tile: `rows` rows of A past the 64 of W, whose sums are [pair][row of A][n, n + 8][16 lanes].
// Codes are read from end to end, which keeps a core's prefetcher going; sums pass through L1,
// which costs loads and stores where the ports of the arithmetic are what is short.
template <typename Isa, int kRows, bool kFine>
void add_tile(const Isa& isa, const std::byte* codes, const std::byte* a, std::int64_t row_bytes,
              const TileScales<kFine>& scales, __mmask16 live, float* sums) {
  // As many rows of A as fit into registers are loaded once.
  constexpr bool kKept = kRows <= 4;
  typename Isa::Columns kept[kRows];
  if constexpr (kKept) {
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) kept[row] = Isa::load(a + row * row_bytes);
  }
  for (int pair = 0; pair < 32; ++pair, codes += 64, sums += kRows * 32) {
    const __m512i line = _mm512_loadu_si512(codes);
    _mm_prefetch(reinterpret_cast<const char*>(codes + kCodesAhead), _MM_HINT_T1);
    const auto low = isa.entries(line, 0);
    const auto high = isa.entries(line, 1);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const typename Isa::Columns columns = kKept ? kept[row] : Isa::load(a + row * row_bytes);
      float* sum = sums + row * 32;
      const __m512 low_sum = _mm512_load_ps(sum);
      const __m512 high_sum = _mm512_load_ps(sum + 16);
      _mm512_store_ps(
          sum, _mm512_mask3_fmadd_ps(Isa::dot(low, columns), scales.of(pair, 0), low_sum, live));
      _mm512_store_ps(sum + 16, _mm512_mask3_fmadd_ps(Isa::dot(high, columns), scales.of(pair, 1),
                                                      high_sum, live));
    }
  }
}

template <typename Isa, int kRows, bool kFine>
void run(const Task& task, const Isa& isa) {
  alignas(64) std::array<float, kRows * kTile * 16> sums{};
  const Weight& weight = *task.weight;
  TileScales<kFine> scales(weight, task.tile_row);
  const std::byte* codes = weight.data + weight.layout.codes +
                           task.tile_row * weight.layout.tiles_k * weight.layout.tile_bytes;
  for (std::int64_t tile = 0; tile < weight.layout.tiles_k; ++tile) {
    scales.load(tile);
    add_tile<Isa, kRows, kFine>(isa, codes + tile * weight.layout.tile_bytes,
                                task.a + tile * Isa::kTileBytes, task.row_bytes, scales,
                                live_lanes(weight.k, tile), sums.data());
  }
  for (int pair = 0; pair < 32; ++pair) {
    for (int row = 0; row < kRows; ++row) {
      const float* lanes = sums.data() + (pair * kRows + row) * 32;
      float* to = task.sums + row * kTile + pair / 8 * 16 + pair % 8;
      to[0] = _mm512_reduce_add_ps(_mm512_load_ps(lanes));
      to[8] = _mm512_reduce_add_ps(_mm512_load_ps(lanes + 16));
    }
  }
}

template <typename Isa, bool kFine>
void run_rows(const Task& task, const Isa& isa) {
  switch (task.rows) {
    case 1:
      return run<Isa, 1, kFine>(task, isa);
    case 2:
      return run<Isa, 2, kFine>(task, isa);
    case 3:
      return run<Isa, 3, kFine>(task, isa);
    case 4:
      return run<Isa, 4, kFine>(task, isa);
    case 5:
      return run<Isa, 5, kFine>(task, isa);
    case 6:
      return run<Isa, 6, kFine>(task, isa);
    case 7:
      return run<Isa, 7, kFine>(task, isa);
    default:
      return run<Isa, 8, kFine>(task, isa);
  }
}

template <typename Isa>
void multiply_looked_up(const Task& task) {
  const Isa isa(*task.weight);
  const bool fine = formats::groups_together(task.weight->format, task.weight->k) > 1;
  return fine ? run_rows<Isa, true>(task, isa) : run_rows<Isa, false>(task, isa);
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
