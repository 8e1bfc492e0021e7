#include "families/cpu_packed/kernels/table.hpp"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "families/cpu_packed/kernels/float_table.hpp"

#include <immintrin.h>

namespace gemwright::cpu_packed {
namespace {

struct Avx2 {
  using V = __m256;
  static constexpr int kLanes = 8;

  static V zero() { return _mm256_setzero_ps(); }
  static V set1(float value) { return _mm256_set1_ps(value); }
  static V load(const void* address) { return _mm256_loadu_ps(static_cast<const float*>(address)); }
  // In a register from here on: a load folded into each use would be done as often.
  static void keep(V& value) { asm("" : "+x"(value)); }
  static void store(void* address, V value) {
    _mm256_storeu_ps(static_cast<float*>(address), value);
  }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static float reduce(V value) {
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
  }

  static __m128i halves(const char* address) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(address));
  }
  static V load_bf16(const char* address) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves(address)), 16));
  }
  static V load_f16(const char* address) { return _mm256_cvtph_ps(halves(address)); }
  static void load_bf16_pairs(const char* address, V& even, V& odd) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(address));
    even = _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
    odd = _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(-65536)));
  }
  static void load_f16_pairs(const char* address, V& even, V& odd) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(address));
    // Even elements to the low half of each lane, odd ones to the high half; then lanes together.
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0,
                                           1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const __m256i apart = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(bits, order), 0xD8);
    even = _mm256_cvtph_ps(_mm256_castsi256_si128(apart));
    odd = _mm256_cvtph_ps(_mm256_extracti128_si256(apart, 1));
  }
  static V zip16(const char* low, const char* high) {
    const __m256i first = _mm256_cvtepu16_epi32(halves(low));
    const __m256i second = _mm256_cvtepu16_epi32(halves(high));
    return _mm256_castsi256_ps(_mm256_or_si256(first, _mm256_slli_epi32(second, 16)));
  }

  // Rounds to nearest even; NaNs stay NaNs.
  static void store_bf16(char* address, V value) {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0xD8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(address), _mm256_castsi256_si128(packed));
  }
  static void store_f16(char* address, V value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(address),
                     _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }

  // 8 x 8 dwords.
  [[gnu::always_inline]] static void transpose(V (&rows)[8]) {
    V quads[8];
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      const V low01 = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
      const V high01 = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
      const V low23 = _mm256_unpacklo_ps(rows[i + 2], rows[i + 3]);
      const V high23 = _mm256_unpackhi_ps(rows[i + 2], rows[i + 3]);
      quads[i] = _mm256_shuffle_ps(low01, low23, 0x44);
      quads[i + 1] = _mm256_shuffle_ps(low01, low23, 0xEE);
      quads[i + 2] = _mm256_shuffle_ps(high01, high23, 0x44);
      quads[i + 3] = _mm256_shuffle_ps(high01, high23, 0xEE);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      rows[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
      rows[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
    }
  }
};

// 16 registers: 6 x 2 vectors of accumulators, two of B, one of A; or 3 x 4.
struct Tiles {
  template <Loader kLoader>
  static constexpr void panels(KernelTable& table) {
    add_panels<Avx2, kLoader, 1, step_depth(kLoader) == 1 ? 6 : 5>(table);
    add_panels<Avx2, kLoader, 2, step_depth(kLoader) == 1 ? 3 : 2>(table);
  }
  template <Loader kLoader>
  static constexpr void dots(KernelTable& table) {
    add_dot<Avx2, kLoader, 1, 6>(table);
    add_dot<Avx2, kLoader, 2, 4>(table);
    add_dot<Avx2, kLoader, 3, 3>(table);
    add_dot<Avx2, kLoader, 4, 3>(table);
    add_dot<Avx2, kLoader, 5, 2>(table);
    add_dot<Avx2, kLoader, 6, 2>(table);
    add_narrow_dot<Avx2, kLoader, 1, 4>(table);
    add_narrow_dot<Avx2, kLoader, 2, 3>(table);
    add_narrow_dot<Avx2, kLoader, 4, 2>(table);
  }
};

}  // namespace

const KernelTable* avx2_kernels() {
  static constexpr KernelTable kTable = float_table<Avx2, Tiles>("avx2");
  return &kTable;
}

}  // namespace gemwright::cpu_packed
#else
namespace gemwright::cpu_packed {
const KernelTable* avx2_kernels() {
  return nullptr;
}
}  // namespace gemwright::cpu_packed
#endif
