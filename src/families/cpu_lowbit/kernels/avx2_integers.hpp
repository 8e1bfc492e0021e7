// Codes as unsigned integers times activations of 8 bits by AVX2: both widened to 16 bits, whose
// pairs are multiplied and added exactly (sums of pairs of 8 bits would saturate).
#pragma once

#include "families/cpu_lowbit/kernels/avx2_panels.hpp"
#include "families/cpu_lowbit/kernels/integers.hpp"

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

constexpr int kVectors = 4;  // of 8 rows of W that a pass over the codes takes

// Four bytes a row of a place, for 8 rows.
template <int kBits>
__m256i place_of(const Codes8<kBits, (kBits >= 4)>& codes, int step, int next) {
  const __m256i mask = _mm256_set1_epi32((1 << kBits) - 1);
  __m256i bytes = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m256i code = _mm256_and_si256(codes.get(step, i / 2, i % 2, next), mask);
    bytes = _mm256_or_si256(bytes, _mm256_slli_epi32(code, 8 * i));
  }
  return bytes;
}

template <int kBits>
void decode_integers(const Weight& weight, std::int64_t tile_row, std::int64_t begin,
                     std::int64_t end, CodeBlock& block) {
  const Units units(weight.format);
  begin_block(weight, begin, end, block);
  decode_numbers(weight, tile_row, begin, units, block);
  const __m256i table = _mm256_broadcastsi128_si256(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(kE2m1Units.data())));
  std::uint8_t* out = block.codes.data();
  for (std::int64_t tile = begin; tile < end; ++tile, out += kTile * kTile) {
    const std::byte* data = weight.data + weight.layout.codes +
                            (tile_row * weight.layout.tiles_k + tile) * weight.layout.tile_bytes;
    for (int part = 0; part < 16; ++part) {
      const int quarter = part / 4;
      const int thread = part % 4;
      const Codes8<kBits, (kBits >= 4)> codes(data, quarter, thread);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        const int step = i / 2;
        __m256i bytes = place_of<kBits>(codes, step, i % 2);
        if (units.looked_up) bytes = _mm256_shuffle_epi8(table, bytes);
        std::uint8_t* to = out + (4 * step + thread) * kTile * 4 + (quarter * 16 + i % 2 * 8) * 4;
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), bytes);
      }
    }
  }
}

void decode_block_avx2(const Weight& weight, std::int64_t tile_row, std::int64_t begin,
                       std::int64_t end, CodeBlock& block) {
  switch (weight.format.bits) {
    case 2:
      return decode_integers<2>(weight, tile_row, begin, end, block);
    case 3:
      return decode_integers<3>(weight, tile_row, begin, end, block);
    case 4:
      return decode_integers<4>(weight, tile_row, begin, end, block);
    default:
      return decode_block(weight, tile_row, begin, end, block);
  }
}

// kRows rows of A with 32 rows of W from `n` on, over one segment.
template <int kRows>
void multiply_segment(const IntegerTask& task, std::int64_t first, std::int64_t places,
                      std::int64_t segment, std::int64_t n) {
  const CodeBlock& block = *task.block;
  const std::int64_t numbers = segment * kTile + n;
  __m256i products[kRows][kVectors];
#pragma GCC unroll 2
  for (int row = 0; row < kRows; ++row) {
    // Both fit 16 bits; the upper halves of zero points are 0.
    const __m256i minus = _mm256_set1_epi32(task.minus_sums[row * task.row_bytes / 4 + segment]);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      const auto* zeros = reinterpret_cast<const __m256i*>(block.zeros.data() + numbers + 8 * i);
      products[row][i] = _mm256_madd_epi16(minus, _mm256_load_si256(zeros));
    }
  }
  const std::uint8_t* codes = block.codes.data() + (first * kTile + n) * 4;
  const std::int8_t* a = task.a + first * 4;
  for (std::int64_t place = 0; place < places; ++place, codes += kTile * 4, a += 4) {
    __m256i even[kRows];
    __m256i odd[kRows];
#pragma GCC unroll 2
    for (int row = 0; row < kRows; ++row) {
      std::int32_t four = 0;
      std::memcpy(&four, a + row * task.row_bytes, 4);
      const __m256i q = _mm256_set1_epi32(four);
      even[row] = _mm256_srai_epi16(_mm256_slli_epi16(q, 8), 8);
      odd[row] = _mm256_srai_epi16(q, 8);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      const __m256i w = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + 32 * i));
      const __m256i even_codes = _mm256_and_si256(w, _mm256_set1_epi16(255));
      const __m256i odd_codes = _mm256_srli_epi16(w, 8);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; ++row) {
        const __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(even_codes, even[row]),
                                             _mm256_madd_epi16(odd_codes, odd[row]));
        products[row][i] = _mm256_add_epi32(products[row][i], sum);
      }
    }
  }
#pragma GCC unroll 2
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      float* sum = task.sums + row * kTile + n + 8 * i;
      const __m256 scale = _mm256_load_ps(block.scales.data() + numbers + 8 * i);
      _mm256_storeu_ps(
          sum, _mm256_fmadd_ps(_mm256_cvtepi32_ps(products[row][i]), scale, _mm256_loadu_ps(sum)));
    }
  }
}

void multiply_integers(const IntegerTask& task) {
  for (int row = 0; row < task.rows; row += 2) {
    IntegerTask now = task;
    now.a += row * task.row_bytes;
    now.minus_sums += row * task.row_bytes / 4;
    now.sums += row * kTile;
    const auto multiply = row + 1 < task.rows ? multiply_segment<2> : multiply_segment<1>;
    for_segments(*task.block, [&](std::int64_t first, std::int64_t places, std::int64_t segment) {
      for (std::int64_t n = 0; n < kTile; n += 8 * kVectors) {
        multiply(now, first, places, segment, n);
      }
    });
  }
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
