// Scales and zero points by AVX-512: from the bits of a section to fp32. Included by files that are
// compiled for it.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"

#include <cstring>

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

inline __m512 with_nan(__m512 values, __mmask16 where) {
  return _mm512_mask_mov_ps(values, where, _mm512_castsi512_ps(_mm512_set1_epi32(0x7FC00000)));
}

// 2^(bits - 127), of which the least is denormal.
inline __m512 e8m0_to_float(__m128i bits) {
  const __m512i wide = _mm512_cvtepu8_epi32(bits);
  const __mmask16 least = _mm512_testn_epi32_mask(wide, wide);
  const __m512i value =
      _mm512_mask_mov_epi32(_mm512_slli_epi32(wide, 23), least, _mm512_set1_epi32(0x00400000));
  return with_nan(_mm512_castsi512_ps(value),
                  _mm512_cmpeq_epi32_mask(wide, _mm512_set1_epi32(255)));
}

// By way of fp16, whose exponents are larger by 8.
inline __m512 e4m3_to_float(__m128i bits) {
  const __m256i wide = _mm256_cvtepu8_epi16(bits);
  const __m256i magnitude = _mm256_and_si256(wide, _mm256_set1_epi16(0x7F));
  const __m256i sign = _mm256_slli_epi16(_mm256_srli_epi16(wide, 7), 15);
  const __m256i half = _mm256_or_si256(sign, _mm256_slli_epi16(magnitude, 7));
  const __m512 value = _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256.0F));
  return with_nan(value, _mm256_cmpeq_epi16_mask(magnitude, _mm256_set1_epi16(0x7F)));
}

// 16 scales.
inline __m512 to_float(ScaleType type, const std::byte* from) {
  switch (type) {
    case ScaleType::f32:
      return _mm512_loadu_ps(from);
    case ScaleType::bf16: {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
    }
    case ScaleType::f16:
      return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    case ScaleType::e8m0:
      return e8m0_to_float(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    case ScaleType::e4m3:
      return e4m3_to_float(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  return _mm512_setzero_ps();
}

// 16 integer zero points.
inline __m512 bytes_to_float(const std::byte* from) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

// Of 16 rows, [row % 8][group of a tile][row / 8] in memory: values[s] are those of columns
// [16 s, 16 s + 16) of the tile, by row. `load(i)` gives 16 from the 16 i-th on.
template <typename Load>
void by_rows(std::int64_t together, const Load& load, __m512 (&values)[4]) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i high = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const auto place = [&](int group) {
    const __m512i step = _mm512_set1_epi32(2 * static_cast<int>(together));
    return _mm512_add_epi32(_mm512_add_epi32(_mm512_mullo_epi32(lane, step), high),
                            _mm512_set1_epi32(2 * group));
  };
  if (together == 1) {
    const __m512 all = _mm512_permutexvar_ps(place(0), load(0));
    for (__m512& value : values) value = all;
    return;
  }
  if (together == 2) {
    const __m512 first = load(0);
    const __m512 second = load(1);
    values[0] = values[1] = _mm512_permutex2var_ps(first, place(0), second);
    values[2] = values[3] = _mm512_permutex2var_ps(first, place(1), second);
    return;
  }
  // Lanes of rows 4 to 7 and 12 to 15 come from the upper two vectors.
  constexpr __mmask16 kUpper = 0xF0F0;
  const __m512 parts[4] = {load(0), load(1), load(2), load(3)};
  for (int group = 0; group < 4; ++group) {
    const __m512 lower = _mm512_permutex2var_ps(parts[0], place(group), parts[1]);
    const __m512 upper = _mm512_permutex2var_ps(parts[2], place(group), parts[3]);
    values[group] = _mm512_mask_mov_ps(lower, kUpper, upper);
  }
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
