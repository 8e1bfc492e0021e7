// Codes of 2, 3 and 4 bits decoded into panels by AVX2: lanes are the rows g of a panel, and then
// its rows g + 8, all at one k (avx512_panels.hpp); 8 entries are looked up by a permute.
#pragma once

#include "families/cpu_lowbit/kernels/decode.hpp"
#include "families/cpu_lowbit/kernels/planes.hpp"
#include "families/cpu_lowbit/kernels/table.hpp"

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

// Entries of codes, with other bits above.
template <int kBits>
class Table8 {
 public:
  explicit Table8(const Weight& weight) {
    alignas(32) std::array<float, 16> entries;
    for (std::size_t i = 0; i < 16; ++i) entries[i] = weight.entries[i % (1U << kBits)];
    lower_ = _mm256_load_ps(entries.data());
    upper_ = _mm256_load_ps(entries.data() + 8);
  }
  __m256 operator()(__m256i codes) const {
    const __m256 low = _mm256_permutevar8x32_ps(lower_, codes);
    if constexpr (kBits < 4) return low;
    const __m256 high = _mm256_permutevar8x32_ps(upper_, codes);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)));
  }

 private:
  __m256 lower_;
  __m256 upper_;
};

// A word of each group's thread.
template <int kBits, bool kPaired>
__m256i words_of(const std::byte* plane, std::int64_t quarter, int thread, int word) {
  using Where = PlanePlaces<kBits, kPaired>;
  const __m256i groups = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i places = _mm256_mullo_epi32(groups, _mm256_set1_epi32(4 * Where::kWords));
  const std::byte* first =
      plane + Where::kPanelBytes * quarter + 4 * (Where::kWords * thread + word);
  return _mm256_i32gather_epi32(reinterpret_cast<const int*>(first), places, 4);
}

// Codes of rows g, or g + 8, in column 16 step + 8 far + 2 thread + half.
template <int kBits, bool kPaired>
class Codes8 {
 public:
  Codes8(const std::byte* tile, std::int64_t quarter, int thread) {
    for (int i = 0; i < kLowBits; ++i) {
      words_[i] = words_of<kLowBits, kPaired>(tile, quarter, thread, i);
    }
    if constexpr (kBits == 3) third_ = words_of<1, kPaired>(tile + 1024, quarter, thread, 0);
  }

  __m256i get(int step, int far, int half, int next) const {
    using Low = PlanePlaces<kLowBits, kPaired>;
    const __m256i low = _mm256_srli_epi32(words_[Low::word_of(step, far)],
                                          Low::shift_of(step, far, half) + next * Low::kNextRow);
    if constexpr (kBits != 3) return low;
    using High = PlanePlaces<1, kPaired>;
    const __m256i bit =
        _mm256_srli_epi32(third_, High::shift_of(step, far, half) + next * High::kNextRow);
    return _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(3)),
                           _mm256_slli_epi32(_mm256_and_si256(bit, _mm256_set1_epi32(1)), 2));
  }

 private:
  // Three bits are a plane of two and one of one.
  static constexpr int kLowBits = kBits - kBits % 2;
  __m256i words_[4];
  __m256i third_;
};

// Zero points and scales of the 16 rows for columns [16 s, 16 s + 16) of a tile.
struct TileNumbers {
  alignas(32) float zeros[4][kPanelRows];
  alignas(32) float scales[4][kPanelRows];

  TileNumbers(const Scales& from, const WeightFormat& format, std::int64_t quarter,
              std::int64_t first_group) {
    const int together = static_cast<int>(from.together);
    for (int step = 0; step < 4; ++step) {
      const bool repeats = step % (4 / together) != 0;
      for (std::int64_t row = 0; row < kPanelRows; ++row) {
        const std::int64_t group = first_group + step * together / 4;
        scales[step][row] =
            repeats ? scales[step - 1][row] : from.scale(quarter * kPanelRows + row, group);
        zeros[step][row] =
            format.zero == Zero::symmetric ? 0 : from.zero(quarter * kPanelRows + row, group);
      }
    }
  }
};

template <int kBits, bool kPaired>
void decode_tiles(const Weight& weight, std::int64_t panel, std::int64_t begin, std::int64_t end,
                  float* out) {
  const Table8<kBits> lookup(weight);
  const Scales scales(weight, panel / 4);
  const std::int64_t columns = formats::group_columns(weight.format, weight.k);
  const std::byte* tiles = weight.data + weight.layout.codes +
                           panel / 4 * weight.layout.tiles_k * weight.layout.tile_bytes;
  for (std::int64_t tile = begin; tile < end; ++tile, out += kTile * kPanelRows) {
    const TileNumbers by(scales, weight.format, panel % 4, tile * kTile / columns);
    for (int thread = 0; thread < 4; ++thread) {
      const Codes8<kBits, kPaired> codes(tiles + tile * weight.layout.tile_bytes, panel % 4,
                                         thread);
#pragma GCC unroll 32
      for (int i = 0; i < 32; ++i) {
        const int step = i / 8;
        const int far = i / 4 % 2;
        const int half = i / 2 % 2;
        const int next = i % 2;
        const __m256 zero = _mm256_load_ps(&by.zeros[step][8 * next]);
        const __m256 scale = _mm256_load_ps(&by.scales[step][8 * next]);
        const __m256 value = _mm256_sub_ps(lookup(codes.get(step, far, half, next)), zero);
        const int k = 16 * step + 8 * far + 2 * thread + half;
        _mm256_storeu_ps(out + k * kPanelRows + 8 * next, _mm256_mul_ps(value, scale));
      }
    }
  }
}

DecodePanel decoder_of(const Weight& weight) {
  const WeightFormat& format = weight.format;
  const bool across = formats::runs_across_rows(format, weight.k);
  if (across || format.codes == Codes::learned_per_row) return decode_any;
  const bool integer = format.codes == Codes::integer;
  switch (format.bits) {
    case 2:
      return integer ? decode_tiles<2, false> : decode_tiles<2, true>;
    case 3:
      return integer ? decode_tiles<3, false> : decode_tiles<3, true>;
    case 4:
      return decode_tiles<4, true>;
    default:
      return decode_any;
  }
}

void decode_panel(const Weight& weight, std::int64_t panel, std::int64_t begin, std::int64_t end,
                  float* out) {
  decoder_of(weight)(weight, panel, begin, end, out);
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
