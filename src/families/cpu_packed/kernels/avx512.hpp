// AVX-512 (F, BW, DQ, VL). Included by files that are compiled for it.
#pragma once

#include <immintrin.h>

namespace gemwright::cpu_packed {
namespace {

struct Avx512 {
  using V = __m512;
  static constexpr int kLanes = 16;

  static V zero() { return _mm512_setzero_ps(); }
  static V set1(float value) { return _mm512_set1_ps(value); }
  static V load(const void* address) { return _mm512_loadu_ps(address); }
  // In a register from here on: a load folded into each use would be done as often.
  static void keep(V& value) { asm("" : "+v"(value)); }
  static void store(void* address, V value) { _mm512_storeu_ps(address, value); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static float reduce(V value) { return _mm512_reduce_add_ps(value); }

  static V load_bf16(const char* address) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(address));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static V load_f16(const char* address) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(address)));
  }
  static void load_bf16_pairs(const char* address, V& even, V& odd) {
    const __m512i bits = _mm512_loadu_si512(address);
    even = _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(-65536)));
  }
  static void load_f16_pairs(const char* address, V& even, V& odd) {
    alignas(64) static constexpr short kApart[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20,
                                                     22, 24, 26, 28, 30, 1,  3,  5,  7,  9,  11,
                                                     13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    const __m512i bits =
        _mm512_permutexvar_epi16(_mm512_load_si512(kApart), _mm512_loadu_si512(address));
    even = _mm512_cvtph_ps(_mm512_castsi512_si256(bits));
    odd = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
  }
  static V zip16(const char* low, const char* high) {
    const __m512i first =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(low)));
    const __m512i second =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(high)));
    return _mm512_castsi512_ps(_mm512_or_si512(first, _mm512_slli_epi32(second, 16)));
  }

  // Rounds to nearest even; NaNs stay NaNs.
  static void store_bf16(char* address, V value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(address),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
  static void store_f16(char* address, V value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(address),
                        _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  static V piece(const char* address) {
    return _mm512_castps128_ps512(_mm_loadu_ps(reinterpret_cast<const float*>(address)));
  }
  template <int kLane>
  static V insert(V value, const char* address) {
    return _mm512_insertf32x4(value, _mm_loadu_ps(reinterpret_cast<const float*>(address)), kLane);
  }

  // 16 x 16 dwords from memory: lanes are gathered as they are loaded, which leaves half of the
  // shuffles, the one port for which would be the limit.
  [[gnu::always_inline]] static void load_transposed(const char* source, std::ptrdiff_t row_bytes,
                                                     V (&out)[16]) {
#pragma GCC unroll 4
    for (int quad = 0; quad < 4; ++quad) {
      __m512 rows[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const char* address = source + i * row_bytes + quad * 16;
        rows[i] = piece(address);
        rows[i] = insert<1>(rows[i], address + 4 * row_bytes);
        rows[i] = insert<2>(rows[i], address + 8 * row_bytes);
        rows[i] = insert<3>(rows[i], address + 12 * row_bytes);
      }
      const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(rows[0], rows[1]));
      const __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps(rows[0], rows[1]));
      const __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(rows[2], rows[3]));
      const __m512d high23 = _mm512_castps_pd(_mm512_unpackhi_ps(rows[2], rows[3]));
      out[4 * quad] = _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23));
      out[4 * quad + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23));
      out[4 * quad + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23));
      out[4 * quad + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23));
    }
  }

  // 16 x 16 dwords: within lanes of 128 bits, then the lanes themselves.
  [[gnu::always_inline]] static void transpose(V (&rows)[16]) {
    __m512d pairs[16];
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      const V low01 = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
      const V high01 = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
      const V low23 = _mm512_unpacklo_ps(rows[i + 2], rows[i + 3]);
      const V high23 = _mm512_unpackhi_ps(rows[i + 2], rows[i + 3]);
      pairs[i] = _mm512_unpacklo_pd(_mm512_castps_pd(low01), _mm512_castps_pd(low23));
      pairs[i + 1] = _mm512_unpackhi_pd(_mm512_castps_pd(low01), _mm512_castps_pd(low23));
      pairs[i + 2] = _mm512_unpacklo_pd(_mm512_castps_pd(high01), _mm512_castps_pd(high23));
      pairs[i + 3] = _mm512_unpackhi_pd(_mm512_castps_pd(high01), _mm512_castps_pd(high23));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const V a = _mm512_castpd_ps(pairs[i]);
      const V b = _mm512_castpd_ps(pairs[i + 4]);
      const V c = _mm512_castpd_ps(pairs[i + 8]);
      const V d = _mm512_castpd_ps(pairs[i + 12]);
      const V ab_even = _mm512_shuffle_f32x4(a, b, 0x88);
      const V ab_odd = _mm512_shuffle_f32x4(a, b, 0xDD);
      const V cd_even = _mm512_shuffle_f32x4(c, d, 0x88);
      const V cd_odd = _mm512_shuffle_f32x4(c, d, 0xDD);
      rows[i] = _mm512_shuffle_f32x4(ab_even, cd_even, 0x88);
      rows[i + 4] = _mm512_shuffle_f32x4(ab_odd, cd_odd, 0x88);
      rows[i + 8] = _mm512_shuffle_f32x4(ab_even, cd_even, 0xDD);
      rows[i + 12] = _mm512_shuffle_f32x4(ab_odd, cd_odd, 0xDD);
    }
  }
};

}  // namespace
}  // namespace gemwright::cpu_packed
