// 4-bit codes looked up by permutes in AVX-512 registers, streamed past up to 8 rows of A.
//
// 64 adjacent bytes of a tile are two rows of W (n and n + 8) over all of its 64 columns: dword 4 t
// + s has the bytes of columns 16 s + 2 t and the next (byte 0 of row n, byte 1 of row n + 8) and
// of those 8 further (bytes 2 and 3). A is packed in the same order, so that nothing is ever
// shuffled: a vector of codes becomes four vectors of entries, each multiplied with a vector of A,
// and all 16 lanes of a sum have partial sums of one element of D.
//
// The scale of a lane is that of columns 16 s ...: one number where groups hold whole tiles, else
// found by a permute of the scales of the tile.
#pragma once

#include "families/cpu_lowbit/kernels/scales.hpp"
#include "families/cpu_lowbit/kernels/table.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

using formats::kTile;

// Tiles that are worked on together: their codes, scales and part of A stay in the L1 or L2 cache
// while the 64 rows pass over them.
constexpr std::int64_t kDepth = 16;
// Scales of a row of tiles over kDepth tiles, of groups of 16 and more; a vector is read past the
// end.
constexpr std::int64_t kScales = kDepth * 4 * kTile + 16;

// A multiple of 16 of them.
inline void to_floats(ScaleType type, const std::byte* from, std::int64_t count, float* to) {
  const int size = formats::size_bytes(type);
  for (std::int64_t i = 0; i < count; i += 16) {
    _mm512_storeu_ps(to + i, to_float(type, from + i * size));
  }
}

// The scales of tiles [first, last) of a row of tiles, from that of the group of the first tile on.
struct TileScales {
  alignas(64) std::array<float, kScales> values;
  int shift = 0;              // 2^shift columns make a group; a whole row where it is large
  std::int64_t together = 1;  // groups of a tile
  std::int64_t begin = 0;     // the first group

  void load(const Weight& weight, std::int64_t tile_row, std::int64_t first, std::int64_t last) {
    constexpr int kWholeRow = 62;
    const std::int32_t group = weight.format.group;
    shift = group > 0 ? std::countr_zero(static_cast<std::uint32_t>(group)) : kWholeRow;
    together = formats::groups_together(weight.format, weight.k);
    begin = first * kTile >> shift;
    const std::int64_t end = std::min(((last * kTile - 1) >> shift) + 1, weight.layout.groups);
    const int size = formats::size_bytes(weight.format.scale);
    const std::int64_t from = (tile_row * weight.layout.groups + begin) * kTile;
    to_floats(weight.format.scale, weight.data + weight.layout.scales + from * size,
              (end - begin) * kTile, values.data());
  }

  // Of rows n and n + 8 (the pair) over a tile: [group][n, n + 8].
  const float* of(std::int64_t tile, std::int64_t pair) const {
    const std::int64_t group = (tile * kTile >> shift) - begin;
    return values.data() + 2 * (group * 32 + pair * together);
  }
};

// Lanes of a tile's groups: lane 4 t + s belongs to group s * together / 4.
inline __m512i scale_lanes(std::int64_t together, int row) {
  const int step = static_cast<int>(together);
  const auto lane = [&](int s) { return 2 * (s * step / 4) + row; };
  return _mm512_setr_epi32(lane(0), lane(1), lane(2), lane(3), lane(0), lane(1), lane(2), lane(3),
                           lane(0), lane(1), lane(2), lane(3), lane(0), lane(1), lane(2), lane(3));
}

// `pairs` pairs of rows (n, n + 8), `rows` rows of A, over tiles [first, last). The sums are
// [row of A][64 rows of W][16 lanes].
template <typename Isa, int kRows, int kPairs, bool kFine>
void pass(const Task& task, const Isa& isa, const TileScales& scales, std::int64_t first,
          std::int64_t last, std::int64_t pair_begin, float* sums) {
  const Weight& weight = *task.weight;
  const std::int64_t together = kFine ? scales.together : 1;
  const __m512i low_lanes = scale_lanes(together, 0);
  const __m512i high_lanes = scale_lanes(together, 1);
  const std::byte* tiles = weight.data + weight.layout.codes +
                           task.tile_row * weight.layout.tiles_k * weight.layout.tile_bytes +
                           pair_begin * 64;
  const auto place = [&](int row, int pair, int high) {
    const std::int64_t at = pair_begin + pair;
    return sums + (row * kTile + at / 8 * 16 + at % 8 + 8 * high) * 16;
  };
  __m512 low[kRows][kPairs];
  __m512 high[kRows][kPairs];
  for (int row = 0; row < kRows; ++row) {
    for (int pair = 0; pair < kPairs; ++pair) {
      low[row][pair] = _mm512_loadu_ps(place(row, pair, 0));
      high[row][pair] = _mm512_loadu_ps(place(row, pair, 1));
    }
  }
  for (std::int64_t tile = first; tile < last; ++tile) {
    // Unrolled, or the sums would live in memory.
#pragma GCC unroll 8
    for (int pair = 0; pair < kPairs; ++pair) {
      const std::byte* line = tiles + tile * 2048 + pair * 64;
      const __m512i codes = _mm512_loadu_si512(line);
      // The same line of the tiles after these: 32 KiB ahead, past the end of what is prefetched
      // alone.
      _mm_prefetch(reinterpret_cast<const char*>(line + kDepth * 2048), _MM_HINT_T0);
      const auto low_entries = isa.entries(codes, 0);
      const auto high_entries = isa.entries(codes, 1);
      const float* scale = scales.of(tile, pair_begin + pair);
      __m512 low_scale;
      __m512 high_scale;
      if constexpr (kFine) {
        const __m512 all = _mm512_castps256_ps512(_mm256_loadu_ps(scale));
        low_scale = _mm512_permutexvar_ps(low_lanes, all);
        high_scale = _mm512_permutexvar_ps(high_lanes, all);
      } else {
        low_scale = _mm512_set1_ps(scale[0]);
        high_scale = _mm512_set1_ps(scale[1]);
      }
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        const std::byte* a = task.a + row * task.row_bytes + tile * Isa::kTileBytes;
        low[row][pair] = _mm512_fmadd_ps(isa.dot(low_entries, a), low_scale, low[row][pair]);
        high[row][pair] = _mm512_fmadd_ps(isa.dot(high_entries, a), high_scale, high[row][pair]);
      }
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int pair = 0; pair < kPairs; ++pair) {
      _mm512_storeu_ps(place(row, pair, 0), low[row][pair]);
      _mm512_storeu_ps(place(row, pair, 1), high[row][pair]);
    }
  }
}

template <typename Isa, int kRows, bool kFine>
void run(const Task& task, const Isa& isa) {
  constexpr int kPairs = kRows == 1 ? 8 : kRows == 2 ? 4 : kRows <= 4 ? 2 : 1;
  alignas(64) std::array<float, kRows * kTile * 16> sums{};
  TileScales scales;
  const std::int64_t tiles = task.weight->layout.tiles_k;
  for (std::int64_t first = 0; first < tiles; first += kDepth) {
    const std::int64_t last = std::min(first + kDepth, tiles);
    scales.load(*task.weight, task.tile_row, first, last);
    for (std::int64_t pair = 0; pair < 32; pair += kPairs) {
      pass<Isa, kRows, kPairs, kFine>(task, isa, scales, first, last, pair, sums.data());
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int n = 0; n < kTile; ++n) {
      const __m512 lanes = _mm512_load_ps(sums.data() + (row * kTile + n) * 16);
      task.sums[row * kTile + n] = _mm512_reduce_add_ps(lanes);
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
