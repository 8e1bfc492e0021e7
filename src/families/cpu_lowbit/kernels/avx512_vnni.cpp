#include "families/cpu_lowbit/kernels/table.hpp"

#if defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
#include "families/cpu_lowbit/kernels/avx512_panels.hpp"
#include "families/cpu_lowbit/kernels/avx512_round.hpp"
#include "families/cpu_lowbit/kernels/avx512_vnni_stream.hpp"
#include "families/cpu_lowbit/kernels/integers.hpp"

namespace gemwright::cpu_lowbit {
namespace {

// Where the four codes of a place begin in the word of row g, and of row g + 8 in the upper lanes:
// a byte of the result takes 8 bits from any on, counted in pairs of lanes.
template <int kBits, bool kPaired>
__m512i code_bits(int step, int moved) {
  using Where = PlanePlaces<kBits, kPaired>;
  alignas(64) std::array<std::uint8_t, 64> bits;
  for (int i = 0; i < 64; ++i) {
    const int lane = i / 4;
    bits[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(lane % 2 * 32 + Where::shift_of(step, i / 2 % 2, i % 2) +
                                  lane / 8 * Where::kNextRow - moved);
  }
  return _mm512_load_si512(bits.data());
}

// The codes of 16 rows at a place, four bytes a row, with other bits above.
template <int kBits, bool kPaired>
class PlaceCodes {
  using Where = PlanePlaces<kBits, kPaired>;

 public:
  // `moved`: places by which the codes are to stand higher.
  explicit PlaceCodes(int moved) {
    for (int step = 0; step < 4; ++step) bits_[step] = code_bits<kBits, kPaired>(step, moved);
  }

  struct Panel {
    Panel(const std::byte* plane, std::int64_t quarter)
        : parts{Words<Where::kWords>(plane + Where::kPanelBytes * quarter),
                Words<Where::kWords>(plane + Where::kPanelBytes * quarter +
                                     (kBits == 8 ? 2048 : 0))} {}
    __m512i get(int thread, int word) const {
      return parts[word / Where::kWords].get(thread, word % Where::kWords);
    }
    Words<Where::kWords> parts[2];
  };

  __m512i get(const Panel& panel, int step, int thread) const {
    constexpr __mmask64 kFar = 0xCCCCCCCCCCCCCCCCULL;
    const int near = Where::word_of(step, 0);
    const int far = Where::word_of(step, 1);
    const __m512i codes = _mm512_multishift_epi64_epi8(bits_[step], panel.get(thread, near));
    if (near == far) return codes;
    return _mm512_mask_multishift_epi64_epi8(codes, kFar, bits_[step], panel.get(thread, far));
  }

 private:
  __m512i bits_[4];
};

// Integers are paired where they have four bits or more.
template <int kBits>
class Codes64 {
 public:
  template <typename Put>
  [[gnu::always_inline]] void each(const std::byte* tile, std::int64_t quarter,
                                   const Put& put) const {
    const typename Plane::Panel panel(tile, quarter);
#pragma GCC unroll 16
    for (int place = 0; place < 16; ++place) {
      const __m512i codes = plane_.get(panel, place / 4, place % 4);
      put(place, kBits == 8 ? codes : _mm512_and_si512(codes, _mm512_set1_epi8((1 << kBits) - 1)));
    }
  }

 private:
  using Plane = PlaceCodes<kBits, (kBits >= 4)>;
  Plane plane_{0};
};

template <>
class Codes64<3> {
 public:
  template <typename Put>
  [[gnu::always_inline]] void each(const std::byte* tile, std::int64_t quarter,
                                   const Put& put) const {
    const PlaceCodes<2, false>::Panel low(tile, quarter);
    const PlaceCodes<1, false>::Panel high(tile + 1024, quarter);
#pragma GCC unroll 16
    for (int place = 0; place < 16; ++place) {
      // Bit 2 of the high plane's, the others of the low one's.
      constexpr int kSelect = 0xD8;
      const __m512i codes = _mm512_ternarylogic_epi32(low_.get(low, place / 4, place % 4),
                                                      high_.get(high, place / 4, place % 4),
                                                      _mm512_set1_epi8(4), kSelect);
      put(place, _mm512_and_si512(codes, _mm512_set1_epi8(7)));
    }
  }

 private:
  PlaceCodes<2, false> low_{0};
  PlaceCodes<1, false> high_{2};
};

// Scales and zero points of a tile's rows, for the segments that begin in it.
void tile_numbers(const Weight& weight, std::int64_t tile_row, std::int64_t tile,
                  const Units& units, const CodeBlock& block, float* scales, std::int32_t* zeros) {
  const bool symmetric = weight.format.zero == Zero::symmetric;
  for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
    const PanelScales by(weight, 4 * tile_row + quarter, tile);
    const std::int64_t steps = std::min<std::int64_t>(block.segment / 16, 4);
    for (std::int64_t step = 0; step < 4; step += steps) {
      const std::int64_t at = step / steps * kTile + quarter * kPanelRows;
      _mm512_store_ps(scales + at, _mm512_mul_ps(by.scales[step], _mm512_set1_ps(units.factor)));
      _mm512_store_si512(zeros + at, symmetric ? _mm512_set1_epi32(units.zero)
                                               : _mm512_cvtps_epi32(by.zeros[step]));
    }
  }
}

template <int kBits, bool kLookedUp>
void decode_codes(const Weight& weight, std::int64_t tile_row, std::int64_t begin, std::int64_t end,
                  CodeBlock& block) {
  const Units units(weight.format);
  begin_block(weight, begin, end, block);
  const Codes64<kBits> codes;
  const __m512i table =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kE2m1Units.data())));
  std::uint8_t* out = block.codes.data();
  std::int64_t number = 0;
  for (std::int64_t tile = begin; tile < end; ++tile, out += kTile * kTile) {
    if ((tile - begin) * kTile % block.segment == 0) {
      tile_numbers(weight, tile_row, tile, units, block, block.scales.data() + number * kTile,
                   block.zeros.data() + number * kTile);
      number += std::max<std::int64_t>(kTile / block.segment, 1);
    }
    const std::byte* data = weight.data + weight.layout.codes +
                            (tile_row * weight.layout.tiles_k + tile) * weight.layout.tile_bytes;
    const std::byte* ahead = data + kCodesAhead;
    for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
      for (std::int64_t line = 0; line < weight.layout.tile_bytes / 4; line += 64, ahead += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
      }
      std::uint8_t* to = out + quarter * kPanelRows * 4;
      codes.each(
          data, quarter, [&](int place, __m512i bytes) __attribute__((always_inline)) {
            if constexpr (kLookedUp) bytes = _mm512_shuffle_epi8(table, bytes);
            _mm512_store_si512(to + place * kTile * 4, bytes);
          });
    }
  }
}

void decode(const Weight& weight, std::int64_t tile_row, std::int64_t begin, std::int64_t end,
            CodeBlock& block) {
  if (weight.format.codes != gemwright::Codes::integer) {
    return decode_codes<4, true>(weight, tile_row, begin, end, block);
  }
  switch (weight.format.bits) {
    case 2:
      return decode_codes<2, false>(weight, tile_row, begin, end, block);
    case 3:
      return decode_codes<3, false>(weight, tile_row, begin, end, block);
    case 4:
      return decode_codes<4, false>(weight, tile_row, begin, end, block);
    default:
      return decode_codes<8, false>(weight, tile_row, begin, end, block);
  }
}

// sums += products of four unsigned and four signed bytes. GCC 12 would move sums of the intrinsic
// from register to register and on into memory, which takes three times as long.
void add_products(__m512i& sums, __m512i codes, __m512i a) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(codes), "v"(a));
}

// A lane is a row of W: 64 of them are four vectors, times kRows rows of A in registers.
template <int kRows>
void multiply_rows(const IntegerTask& task) {
  const CodeBlock& block = *task.block;
  for_segments(block, [&](std::int64_t first, std::int64_t places, std::int64_t segment) {
    __m512i products[kRows][4];
    const auto* zeros = block.zeros.data() + segment * kTile;
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      // Both fit 16 bits; the upper halves of zero points are 0.
      const __m512i minus = _mm512_set1_epi32(task.minus_sums[row * task.row_bytes / 4 + segment]);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        products[row][i] =
            _mm512_dpwssd_epi32(_mm512_setzero_si512(), minus, _mm512_load_si512(zeros + 16 * i));
      }
    }
    const std::uint8_t* codes = block.codes.data() + first * kTile * 4;
    const std::int8_t* a = task.a + first * 4;
    for (std::int64_t place = 0; place < places; ++place, codes += kTile * 4, a += 4) {
      const __m512i w[4] = {_mm512_load_si512(codes), _mm512_load_si512(codes + 64),
                            _mm512_load_si512(codes + 128), _mm512_load_si512(codes + 192)};
#pragma GCC unroll 4
      for (int row = 0; row < kRows; ++row) {
        std::int32_t four = 0;
        std::memcpy(&four, a + row * task.row_bytes, 4);
        const __m512i q = _mm512_set1_epi32(four);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          add_products(products[row][i], w[i], q);
        }
      }
    }
    const float* scales = block.scales.data() + segment * kTile;
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        float* sum = task.sums + row * kTile + 16 * i;
        _mm512_storeu_ps(sum,
                         _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[row][i]),
                                         _mm512_load_ps(scales + 16 * i), _mm512_loadu_ps(sum)));
      }
    }
  });
}

void multiply(const IntegerTask& task) {
  constexpr decltype(&multiply_rows<1>) kByRows[kIntegerRows] = {
      multiply_rows<1>, multiply_rows<2>, multiply_rows<3>, multiply_rows<4>};
  kByRows[task.rows - 1](task);
}

}  // namespace

const KernelTable* avx512_vnni_kernels() {
  static constexpr KernelTable table{nullptr,
                                     {nullptr, multiply_looked_up<Fours>, 1, round_row_avx512},
                                     {round_row_avx512, decode, multiply}};
  return &table;
}

}  // namespace gemwright::cpu_lowbit
#else
namespace gemwright::cpu_lowbit {
const KernelTable* avx512_vnni_kernels() {
  return nullptr;
}
}  // namespace gemwright::cpu_lowbit
#endif
