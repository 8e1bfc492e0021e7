// Codes decoded into panels by AVX-512: the 16 lanes of a vector are a panel's rows of W, all at
// one k, so that a permute looks all of them up and nothing is shuffled afterwards.
//
// In a tile, 8 groups of 4 threads (docs/formats.md) hold the panel's rows g and g + 8: a word of
// each thread t of the groups, in both halves of a vector, has the codes of 16 rows for some k. The
// words are gathered by permutes, shifted by as much more in the upper lanes as row g + 8 asks, and
// then by the place of k.
#pragma once

#include "families/cpu_lowbit/kernels/decode.hpp"
#include "families/cpu_lowbit/kernels/planes.hpp"
#include "families/cpu_lowbit/kernels/scales.hpp"
#include "families/cpu_lowbit/kernels/table.hpp"

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

// [first, ..., first + 3 steps of it], 16 further for a second operand, and both again.
inline __m512i eight_twice(int first, int step) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
  const __m512i second = _mm512_setr_epi32(0, 0, 0, 0, 16, 16, 16, 16, 0, 0, 0, 0, 16, 16, 16, 16);
  const __m512i places =
      _mm512_add_epi32(_mm512_mullo_epi32(lane, _mm512_set1_epi32(step)), second);
  return _mm512_add_epi32(places, _mm512_set1_epi32(first));
}

// kWords adjacent words of each thread of a panel, [8 groups][4 threads][kWords].
template <int kWords>
class Words;

template <>
class Words<4> {
 public:
  explicit Words(const std::byte* from) {
    const auto row = [&](int g) { return _mm512_loadu_si512(from + 64 * g); };
    gather(row(0), row(1), row(2), row(3), lower_);
    gather(row(4), row(5), row(6), row(7), upper_);
  }
  __m512i get(int thread, int word) const {
    return _mm512_permutex2var_epi32(lower_[word], eight_twice(4 * thread, 1), upper_[word]);
  }

 private:
  // A word of four groups, threads in the four lanes.
  static void gather(__m512i a, __m512i b, __m512i c, __m512i d, __m512i (&words)[4]) {
    const __m512i ab = _mm512_unpacklo_epi32(a, b);
    const __m512i cd = _mm512_unpacklo_epi32(c, d);
    words[0] = _mm512_unpacklo_epi64(ab, cd);
    words[1] = _mm512_unpackhi_epi64(ab, cd);
    const __m512i ab_high = _mm512_unpackhi_epi32(a, b);
    const __m512i cd_high = _mm512_unpackhi_epi32(c, d);
    words[2] = _mm512_unpacklo_epi64(ab_high, cd_high);
    words[3] = _mm512_unpackhi_epi64(ab_high, cd_high);
  }
  __m512i lower_[4];
  __m512i upper_[4];
};

template <>
class Words<2> {
 public:
  explicit Words(const std::byte* from) {
    const auto rows = [&](int i) { return _mm512_loadu_si512(from + 64 * i); };
    const __m512i first = _mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13);
    const __m512i second = _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15);
    lower_[0] = _mm512_permutex2var_epi64(rows(0), first, rows(1));
    lower_[1] = _mm512_permutex2var_epi64(rows(0), second, rows(1));
    upper_[0] = _mm512_permutex2var_epi64(rows(2), first, rows(3));
    upper_[1] = _mm512_permutex2var_epi64(rows(2), second, rows(3));
  }
  __m512i get(int thread, int word) const {
    const __m512i places = eight_twice(8 * (thread % 2) + word, 2);
    return _mm512_permutex2var_epi32(lower_[thread / 2], places, upper_[thread / 2]);
  }

 private:
  // Both words of threads 0 and 1, 2 and 3, of four groups.
  __m512i lower_[2];
  __m512i upper_[2];
};

template <>
class Words<1> {
 public:
  explicit Words(const std::byte* from)
      : lower_(_mm512_loadu_si512(from)), upper_(_mm512_loadu_si512(from + 64)) {}
  __m512i get(int thread, int /*word*/) const {
    return _mm512_permutex2var_epi32(lower_, eight_twice(thread, 4), upper_);
  }

 private:
  __m512i lower_;
  __m512i upper_;
};

// A plane of kBits of each code: of four bits and fewer one part, of eight two.
template <int kBits, bool kPaired>
class Plane : public PlanePlaces<kBits, kPaired> {
 public:
  using Where = PlanePlaces<kBits, kPaired>;
  static constexpr int kPart = Where::kWords;

  Plane(const std::byte* plane, std::int64_t quarter)
      : parts_{Words<kPart>(plane + Where::kPanelBytes * quarter),
               Words<kPart>(plane + Where::kPanelBytes * quarter + (kBits == 8 ? 2048 : 0))} {}

  // In the upper lanes, the pair of row g + 8 comes to where that of row g is.
  __m512i word(int thread, int word) const {
    constexpr int kMore = Where::kNextRow;
    const __m512i counts = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, kMore, kMore, kMore, kMore,
                                             kMore, kMore, kMore, kMore);
    return _mm512_srlv_epi32(parts_[word / kPart].get(thread, word % kPart), counts);
  }

 private:
  Words<kPart> parts_[2];
};

// Calls emit(k, codes) for the 64 columns of a tile: the code of each row, and other bits above.
template <int kBits, bool kPaired>
struct Codes16 {
  template <typename Emit>
  [[gnu::always_inline]] static void each(const std::byte* tile, std::int64_t quarter,
                                          const Emit& emit) {
    using P = Plane<kBits, kPaired>;
    const P plane(tile, quarter);
#pragma GCC unroll 4
    for (int thread = 0; thread < 4; ++thread) {
      __m512i words[kBits];
#pragma GCC unroll 8
      for (int i = 0; i < kBits; ++i) words[i] = plane.word(thread, i);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        const int step = i / 4;
        const int far = i / 2 % 2;
        const int half = i % 2;
        emit(16 * step + 8 * far + 2 * thread + half,
             _mm512_srli_epi32(words[P::word_of(step, far)],
                               static_cast<unsigned>(P::shift_of(step, far, half))));
      }
    }
  }
};

template <bool kPaired>
struct Codes16<3, kPaired> {
  template <typename Emit>
  [[gnu::always_inline]] static void each(const std::byte* tile, std::int64_t quarter,
                                          const Emit& emit) {
    using Low = Plane<2, kPaired>;
    using High = Plane<1, kPaired>;
    const Low low(tile, quarter);
    const High high(tile + 1024, quarter);
#pragma GCC unroll 4
    for (int thread = 0; thread < 4; ++thread) {
      const __m512i words[2] = {low.word(thread, 0), low.word(thread, 1)};
      const __m512i upper = high.word(thread, 0);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        const int step = i / 4;
        const int far = i / 2 % 2;
        const int half = i % 2;
        const __m512i two = _mm512_srli_epi32(
            words[Low::word_of(step, far)], static_cast<unsigned>(Low::shift_of(step, far, half)));
        const int from = High::shift_of(step, far, half) - 2;
        const __m512i one = from < 0 ? _mm512_slli_epi32(upper, static_cast<unsigned>(-from))
                                     : _mm512_srli_epi32(upper, static_cast<unsigned>(from));
        // One's bit 2, two's others.
        constexpr int kSelect = 0xD8;
        emit(16 * step + 8 * far + 2 * thread + half,
             _mm512_ternarylogic_epi32(two, one, _mm512_set1_epi32(4), kSelect));
      }
    }
  }
};

// What codes stand for. Each takes 16 of them, with other bits above.
template <int kBits>
class Table {
 public:
  Table(const Weight& weight, std::int64_t /*panel*/) {
    alignas(64) std::array<float, 16> entries;
    for (std::size_t i = 0; i < 16; ++i) entries[i] = weight.entries[i % (1U << kBits)];
    entries_ = _mm512_load_ps(entries.data());
  }
  __m512 operator()(__m512i codes) const { return _mm512_permutexvar_ps(codes, entries_); }

 private:
  __m512 entries_;
};

class Bytes {
 public:
  Bytes(const Weight& weight, std::int64_t /*panel*/) : entries_(weight.entries.data()) {}
  __m512 operator()(__m512i codes) const {
    return _mm512_i32gather_ps(_mm512_and_si512(codes, _mm512_set1_epi32(255)), entries_, 4);
  }

 private:
  const float* entries_;
};

class Numbers {
 public:
  Numbers(const Weight& /*weight*/, std::int64_t /*panel*/) {}
  __m512 operator()(__m512i codes) const {
    return _mm512_cvtepi32_ps(_mm512_and_si512(codes, _mm512_set1_epi32(255)));
  }
};

// Each row's own codebook, whose entries are rounded as they are used.
template <int kBits>
class RowTables {
 public:
  RowTables(const Weight& weight, std::int64_t panel)
      : type_(weight.entry_type),
        entries_(weight.data + weight.layout.table + panel * kPanelRows * kEntries * 4) {}

  __m512 operator()(__m512i codes) const {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i code = _mm512_and_si512(codes, _mm512_set1_epi32(kEntries - 1));
    const __m512 value =
        _mm512_i32gather_ps(_mm512_add_epi32(_mm512_slli_epi32(lane, kBits), code), entries_, 4);
    if (type_ == DataType::f16) {
      return _mm512_cvtph_ps(_mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    return type_ == DataType::bf16 ? rounded_to_bf16(value) : value;
  }

 private:
  static constexpr int kEntries = 1 << kBits;

  static __m512 rounded_to_bf16(__m512 value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    const __m512 result = _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(-65536)));
    return with_nan(result, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q));
  }

  DataType type_;
  const std::byte* entries_;
};

// Zero points and scales of a panel's rows in one tile, by columns [16 s, 16 s + 16).
struct PanelScales {
  __m512 zeros[4];
  __m512 scales[4];

  PanelScales(const Weight& weight, std::int64_t panel, std::int64_t tile) {
    const std::int64_t together = formats::groups_together(weight.format, weight.k);
    const std::int64_t group = tile * kTile / formats::group_columns(weight.format, weight.k);
    const std::int64_t first = panel / 4 * weight.layout.groups * kTile +
                               formats::scale_place(together, panel % 4 * kPanelRows, group);
    const ScaleType type = weight.format.scale;
    const int size = formats::size_bytes(type);
    const auto scale = [&](std::int64_t section) {
      return [=, &weight](int i) {
        return to_float(type, weight.data + section + (first + 16 * i) * size);
      };
    };
    by_rows(together, scale(weight.layout.scales), scales);
    switch (weight.format.zero) {
      case Zero::symmetric: {
        // Entries have it already; of bytes, which are numbers, it is taken here.
        const float zero = weight.format.bits == 8 ? 128.0F : 0.0F;
        for (__m512& value : zeros) value = _mm512_set1_ps(zero);
        return;
      }
      case Zero::integer: {
        const std::byte* bytes = weight.data + weight.layout.zeros + first;
        by_rows(
            together, [bytes](int i) { return bytes_to_float(bytes + 16 * i); }, zeros);
        return;
      }
      case Zero::real:
        by_rows(together, scale(weight.layout.zeros), zeros);
    }
  }
};

template <int kBits, bool kPaired, class Lookup, bool kZeros>
void decode_tiles(const Weight& weight, std::int64_t panel, std::int64_t begin, std::int64_t end,
                  float* out) {
  const Lookup lookup(weight, panel);
  const std::byte* tiles = weight.data + weight.layout.codes +
                           panel / 4 * weight.layout.tiles_k * weight.layout.tile_bytes;
  for (std::int64_t tile = begin; tile < end; ++tile, out += kTile * kPanelRows) {
    const PanelScales by(weight, panel, tile);
    Codes16<kBits, kPaired>::each(
        tiles + tile * weight.layout.tile_bytes,
        panel % 4, [&](int k, __m512i codes) __attribute__((always_inline)) {
          __m512 value = lookup(codes);
          if constexpr (kZeros) value = _mm512_sub_ps(value, by.zeros[k / 16]);
          _mm512_storeu_ps(out + k * kPanelRows, _mm512_mul_ps(value, by.scales[k / 16]));
        });
  }
}

inline DecodePanel decoder_of(const WeightFormat& format) {
  const bool integer = format.codes == gemwright::Codes::integer;
  const bool own = format.codes == gemwright::Codes::learned_per_row;
  switch (format.bits) {
    case 2:
      if (own) return decode_tiles<2, true, RowTables<2>, false>;
      return integer ? decode_tiles<2, false, Table<2>, true>
                     : decode_tiles<2, true, Table<2>, false>;
    case 3:
      if (own) return decode_tiles<3, true, RowTables<3>, false>;
      return integer ? decode_tiles<3, false, Table<3>, true>
                     : decode_tiles<3, true, Table<3>, false>;
    case 4:
      if (own) return decode_tiles<4, true, RowTables<4>, false>;
      return format.zero == Zero::symmetric ? decode_tiles<4, true, Table<4>, false>
                                            : decode_tiles<4, true, Table<4>, true>;
    default:
      if (own) return decode_tiles<8, true, RowTables<8>, false>;
      return integer ? decode_tiles<8, true, Numbers, true> : decode_tiles<8, true, Bytes, false>;
  }
}

// Blocks that run across rows are decoded code by code.
inline void decode_panel(const Weight& weight, std::int64_t panel, std::int64_t begin,
                         std::int64_t end, float* out) {
  const WeightFormat& format = weight.format;
  const bool across = formats::runs_across_rows(format, weight.k);
  const DecodePanel decode = across ? decode_any : decoder_of(format);
  decode(weight, panel, begin, end, out);
}

}  // namespace
}  // namespace gemwright::cpu_lowbit
