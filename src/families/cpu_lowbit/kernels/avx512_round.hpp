// Rows of A to int8 by AVX-512: the codes and scales of numeric::round_activations.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

// Lanes of a vector from element `at` on that there are.
inline __mmask16 lanes_of(std::int64_t at, std::int64_t count) {
  const std::int64_t left = std::clamp<std::int64_t>(count - at, 0, 16);
  return static_cast<__mmask16>((1U << left) - 1);
}

// Magnitudes are ordered as their bits are, infinities and NaN above all.
inline float largest_magnitude(const float* row, std::int64_t k) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i largest = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < k; i += 16) {
    const __m512i bits = _mm512_maskz_loadu_epi32(lanes_of(i, k), row + i);
    largest = _mm512_max_epi32(largest, _mm512_and_si512(bits, magnitude));
  }
  return std::bit_cast<float>(_mm512_reduce_max_epi32(largest));
}

// 16 codes: conversion to integers rounds to nearest even.
inline __m128i codes_of(__m512 values, __m512 scale) {
  const __m512 largest = _mm512_set1_ps(127.0F);
  const __m512 least = _mm512_set1_ps(-127.0F);
  const __m512 quotient = _mm512_div_ps(values, scale);
  return _mm512_cvtepi32_epi8(
      _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(quotient, least), largest)));
}

inline float round_row_avx512(float* row, std::int64_t k, const IntegerRow& layout,
                              std::byte* out) {
  const float largest = largest_magnitude(row, k);
  const float scale =
      std::isfinite(largest) ? largest / 127.0F : std::numeric_limits<float>::quiet_NaN();
  if (!(scale > 0)) {
    std::fill_n(out, layout.bytes, std::byte{0});
    return scale;
  }
  alignas(64) std::array<std::uint8_t, formats::kTile> order;
  for (std::int64_t i = 0; i < formats::kTile; ++i) {
    order[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(integer_column(i / 4, i % 4));
  }
  const __m512i places = _mm512_load_si512(order.data());
  const __m512 divisor = _mm512_set1_ps(scale);
  auto* minus_sums = reinterpret_cast<std::int32_t*>(out + layout.columns);
  std::fill_n(minus_sums, formats::ceil_div(layout.columns, layout.segment), 0);
  for (std::int64_t first = 0; first < layout.columns; first += formats::kTile) {
    alignas(64) std::array<std::int8_t, formats::kTile> tile;
    for (std::int64_t i = 0; i < formats::kTile; i += 16) {
      const std::int64_t at = first + i;
      const __m128i codes = codes_of(_mm512_maskz_loadu_ps(lanes_of(at, k), row + at), divisor);
      _mm_store_si128(reinterpret_cast<__m128i*>(&tile[static_cast<std::size_t>(i)]), codes);
      minus_sums[at / layout.segment] -= _mm512_reduce_add_epi32(_mm512_cvtepi8_epi32(codes));
    }
    _mm512_storeu_si512(out + first,
                        _mm512_permutexvar_epi8(places, _mm512_load_si512(tile.data())));
  }
  return scale;
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
