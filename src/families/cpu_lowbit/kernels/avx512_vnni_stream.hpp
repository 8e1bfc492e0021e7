// 4-bit integers without zero points times int8 activations, as they stream past (lookup.hpp):
// codes are dwords of four columns, by one byte shift and one mask.
#pragma once

#include "families/cpu_lowbit/kernels/lookup.hpp"

#include <array>
#include <cstdint>

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

// A is an IntegerRow, whose places come to the lanes of the codes as they are loaded.
class Fours {
 public:
  static constexpr std::int64_t kTileBytes = kTile;

  explicit Fours(const Weight& /*weight*/) : bits_{bits(0), bits(8)} {}

  // Of row n, or of n + 8.
  __m512i entries(__m512i codes, int row) const {
    return _mm512_and_si512(_mm512_multishift_epi64_epi8(bits_[row], codes), _mm512_set1_epi8(15));
  }

  struct Columns {
    __m512i a;
    __m512i minus;  // - zero point * sum of a, in each lane
  };
  static Columns load(const std::byte* tile) {
    // Lane 4 t + s has place 4 s + t.
    const __m512i places = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i a = _mm512_permutexvar_epi32(places, _mm512_loadu_si512(tile));
    const __m512i zero = _mm512_setzero_si512();
    return {a, _mm512_sub_epi32(zero, _mm512_dpbusd_epi32(zero, _mm512_set1_epi8(8), a))};
  }

  static __m512 dot(__m512i codes, const Columns& columns) {
    return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(columns.minus, codes, columns.a));
  }

 private:
  // Of each dword: columns 0 and 1 of a row from its bit `from` on, those 8 further 16 bits later.
  static __m512i bits(int from) {
    alignas(64) std::array<std::uint8_t, 64> result;
    for (int i = 0; i < 64; ++i) {
      result[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(i / 4 % 2 * 32 + from + i % 2 * 4 + i / 2 % 2 * 16);
    }
    return _mm512_load_si512(result.data());
  }

  const __m512i bits_[2];
};

}  // namespace
}  // namespace gemwright::cpu_lowbit
