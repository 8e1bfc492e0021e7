// 4-bit codes looked up by permutes in AVX-512 registers and multiplied by AMX, streamed past many
// rows of A.
//
// 64 adjacent bytes of a tile are two rows of W (n and n + 8) over all of its 64 columns: word
// 8 t + 2 s + f has four codes, those of columns c = 16 s + 8 f + 2 t and c + 1 of row n, then of
// row n + 8. A permute of words reads the lowest of them, so that it makes of a line what a row of
// a matrix tile is: 32 columns of one row, first the even ones, then the odd ones, in the order of
// the words. A is packed in that order: pair 4 t + s of a tile has the columns of f = 0 and f = 1.
//
// Sums of a group are scaled in fp32. Where a tile of W has several groups, each is multiplied
// alone, beside zeros in the places of the others; but E8M0 scales of E2M1 become exponents of the
// entries.
#include "families/cpu_lowbit/kernels/table.hpp"

#if defined(__AMX_BF16__) || defined(__AMXBF16__)  // as GCC and as clang name it
#include "families/cpu_lowbit/kernels/pack_a.hpp"
#include "families/cpu_lowbit/kernels/scales.hpp"
#include "families/cpu_packed/kernels/amx_tiles.hpp"
#include "numeric/convert.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <immintrin.h>

namespace gemwright::cpu_lowbit {
namespace {

using formats::kTile;
using Tiles = cpu_packed::AmxTiles;

constexpr std::int64_t kRowBytes = 64;  // of a matrix tile
constexpr std::int64_t kMatrixRows = AmxBlocks::kRows;
constexpr std::int64_t kMatrixBytes = kMatrixRows * kRowBytes;
static_assert(AmxBlocks::kBytes == 2 * kMatrixBytes);
/// Rows of matrix tiles in a tile of W, and in the most rows of A: sums that are under way at a
/// time.
constexpr int kRowsOfMatrices = 4;
static_assert(kMostAmxRows == kRowsOfMatrices * kMatrixRows);

/// A matrix tile.
using Matrix = std::array<std::uint16_t, kMatrixBytes / 2>;
/// 16 rows of a tile of W: their even columns, then their odd ones.
using Decoded = std::array<Matrix, 2>;

/// bf16 entries, twice: a permute of words reads 5 bits, of which the fifth is then of no
/// consequence.
struct alignas(64) Entries {
  std::array<std::uint16_t, 32> words;

  __m512i load() const { return _mm512_load_si512(words.data()); }
};

/// code - zero for every zero point.
const Entries* less_zero_points() {
  static const auto tables = [] {
    std::array<Entries, 256> all;
    for (std::size_t zero = 0; zero < all.size(); ++zero) {
      for (std::size_t i = 0; i < 32; ++i) {
        all[zero].words[i] =
            numeric::to_bf16(static_cast<float>(i % 16) - static_cast<float>(zero));
      }
    }
    return all;
  }();
  return tables.data();
}

/// Tiles of K whose sums are scaled together.
struct Span {
  std::int64_t tile, end;
  std::int64_t group;  // of the scales: the one of all tiles, or the first of the tile
  std::int64_t part;   // of the groups of a tile, the one that is multiplied; -1: all
  bool empty() const { return tile >= end; }
};

/// What the codes of a row of tiles stand for.
class CodeRows {
 public:
  CodeRows(const Weight& weight, std::int64_t tile_row)
      : together_(formats::groups_together(weight.format, weight.k)),
        groups_(weight.layout.groups),
        zeros_(weight.format.zero == Zero::symmetric
                   ? nullptr
                   : weight.data + weight.layout.zeros + tile_row * groups_ * kTile),
        exponents_(scales_are_exponents(weight.format) && together_ > 1
                       ? weight.data + weight.layout.scales + tile_row * groups_ * kTile
                       : nullptr),
        tables_(zeros_ == nullptr ? nullptr : less_zero_points()) {
    for (std::size_t i = 0; i < 32; ++i) {
      entries_.words[i] = numeric::to_bf16(weight.entries[i % 16]);
      places_.words[i] = static_cast<std::uint16_t>(2 * (i % 8 / 2 * together_ / 4));
    }
  }

  /// Whether the scales of a tile may become exponents: those of entries are then normal.
  bool takes_exponents(std::int64_t tile) const {
    if (exponents_ == nullptr) return false;
    constexpr int kLeast = 64;
    constexpr int kMost = 190;
    __mmask64 outside = 0;
    for (std::int64_t i = 0; i < together_; ++i) {
      const __m512i bits = _mm512_loadu_si512(exponents_ + (tile * together_ + i) * kTile);
      outside |= _mm512_cmplt_epu8_mask(bits, _mm512_set1_epi8(kLeast)) |
                 _mm512_cmpgt_epu8_mask(bits, _mm512_set1_epi8(static_cast<char>(kMost)));
    }
    return outside == 0;
  }

  /// 8 lines, 16 rows of a tile from 16 * rows on.
  void decode(const std::byte* lines, const Span& span, std::int64_t tile, std::int64_t rows,
              Decoded& out) const {
    const __m512i table = entries_.load();
    if (span.part < 0 && together_ > 1) {
      const Exponents exponents(*this, tile, rows);
      for (std::size_t row = 0; row < 8; ++row) {
        put(lines + row * 64, row, table, table, out,
            AddExponents{exponents.of(row, 0), exponents.of(row, 1)});
      }
      return;
    }
    const Lanes lanes{span.part < 0 ? ~__mmask32{0} : lanes_of(span.part)};
    if (zeros_ == nullptr) {
      for (std::size_t row = 0; row < 8; ++row)
        put(lines + row * 64, row, table, table, out, lanes);
      return;
    }
    const std::byte* zeros = zeros_ + span.group * kTile + rows * kMatrixRows * together_ +
                             2 * std::max<std::int64_t>(span.part, 0);
    for (std::size_t row = 0; row < 8; ++row, zeros += 2 * together_) {
      put(lines + row * 64, row, tables_[static_cast<std::size_t>(zeros[0])].load(),
          tables_[static_cast<std::size_t>(zeros[1])].load(), out, lanes);
    }
  }

 private:
  /// Of 16 rows and the groups of a tile, in the place of bf16's exponents.
  class Exponents {
   public:
    Exponents(const CodeRows& codes, std::int64_t tile, std::int64_t rows)
        : together_(static_cast<std::size_t>(codes.together_)), places_(codes.places_.load()) {
      const std::byte* bits =
          codes.exponents_ + tile * codes.together_ * kTile + rows * kMatrixRows * codes.together_;
      constexpr int kBias = 127;
      for (std::size_t i = 0; i < together_ / 2; ++i) {
        const __m512i wide = _mm512_cvtepu8_epi16(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits + 32 * i)));
        words_[i] = _mm512_slli_epi16(_mm512_sub_epi16(wide, _mm512_set1_epi16(kBias)), 7);
      }
    }

    /// Of row `row` (of 8) or the one 8 further, for every word of a line.
    __m512i of(std::size_t row, int far) const {
      const std::size_t first = 2 * row * together_;
      const auto at = static_cast<short>(first % 32 + static_cast<std::size_t>(far));
      return _mm512_permutexvar_epi16(_mm512_add_epi16(places_, _mm512_set1_epi16(at)),
                                      words_[first / 32]);
    }

   private:
    const std::size_t together_;
    const __m512i places_;
    __m512i words_[2];
  };

  /// How a vector of entries is finished: those of other groups are zeros, or all have exponents
  /// added unless they are zeros (codes 0 and 8).
  struct Lanes {
    __mmask32 lanes;

    __m512i finish(__m512i entries, __m512i /*codes*/, int /*shift*/, bool /*far*/) const {
      return _mm512_maskz_mov_epi16(lanes, entries);
    }
  };
  struct AddExponents {
    __m512i near, far;

    __m512i finish(__m512i entries, __m512i codes, int shift, bool is_far) const {
      const auto magnitude = static_cast<short>(7 << shift);
      const __mmask32 some = _mm512_test_epi16_mask(codes, _mm512_set1_epi16(magnitude));
      return _mm512_mask_add_epi16(entries, some, entries, is_far ? far : near);
    }
  };

  /// A line: rows `row` and `row` + 8.
  template <typename Finish>
  static void put(const std::byte* line, std::size_t row, __m512i near, __m512i far, Decoded& out,
                  const Finish& finish) {
    const __m512i codes = _mm512_loadu_si512(line);
    _mm_prefetch(reinterpret_cast<const char*>(line + kCodesAhead), _MM_HINT_T1);
    const auto store = [&](std::size_t half, bool is_far, int shift) {
      const __m512i indices = _mm512_srli_epi16(codes, static_cast<unsigned>(shift));
      const __m512i entries = _mm512_permutexvar_epi16(indices, is_far ? far : near);
      _mm512_store_si512(&out[half][(is_far ? row + 8 : row) * 32],
                         finish.finish(entries, codes, shift, is_far));
    };
    store(0, false, 0);
    store(1, false, 4);
    store(0, true, 8);
    store(1, true, 12);
  }

  /// Words of a line with columns of a group of the tile.
  __mmask32 lanes_of(std::int64_t part) const {
    const std::uint32_t eight = together_ == 2 ? 0x0FU << (4 * part) : 0x03U << (2 * part);
    return eight * 0x01010101U;
  }

  const std::int64_t together_;
  const std::int64_t groups_;
  const std::byte* const zeros_;      // [set of groups][row pair][group][n, n + 8]; null: none
  const std::byte* const exponents_;  // the same of E8M0 scales that may be added to entries
  const Entries* const tables_;
  Entries entries_;
  Entries places_;  // of a word's group among those of a row
};

/// Scales of the 64 rows of a tile: [group of the tile][row].
class RowScales {
 public:
  RowScales(const Weight& weight, std::int64_t tile_row)
      : type_(weight.format.scale),
        together_(formats::groups_together(weight.format, weight.k)),
        from_(weight.data + weight.layout.scales +
              tile_row * weight.layout.groups * kTile * formats::size_bytes(type_)) {}

  /// Of the groups from `group` on, a multiple of those of a tile.
  void load(std::int64_t group) {
    const int size = formats::size_bytes(type_);
    float* to = values_.data();
    for (std::int64_t row = 0; row < kTile; row += 16) {
      const std::byte* from = from_ + (group * kTile + row * together_) * size;
      __m512 steps[4];
      by_rows(
          together_, [&](int i) { return to_float(type_, from + 16 * i * size); }, steps);
      for (std::int64_t i = 0; i < together_; ++i) {
        _mm512_store_ps(to + i * kTile + row, steps[i * 4 / together_]);
      }
    }
  }

  /// Of a group of the tile: [row].
  const float* of(std::int64_t group) const { return values_.data() + group * kTile; }

 private:
  const ScaleType type_;
  const std::int64_t together_;
  const std::byte* const from_;
  alignas(64) std::array<float, 4 * kTile> values_;
};

constexpr cpu_packed::TileLayout whole_tiles() {
  cpu_packed::TileLayout layout;
  for (int tile = 0; tile < 8; ++tile) {
    layout.rows[tile] = kMatrixRows;
    layout.row_bytes[tile] = kRowBytes;
  }
  return layout;
}

// Matrix registers: 0-3 sums, 4 and 5 rows of W, 6 and 7 rows of A.
class AmxStream {
 public:
  explicit AmxStream(const Task& task)
      : task_(task),
        weight_(*task.weight),
        codes_(weight_, task.tile_row),
        scales_(weight_, task.tile_row),
        together_(formats::groups_together(weight_.format, weight_.k)),
        columns_(formats::group_columns(weight_.format, weight_.k)),
        blocks_(formats::ceil_div(task.rows, kMatrixRows)) {}

  void run() {
    static constexpr cpu_packed::TileLayout kLayout = whole_tiles();
    Tiles::configure(kLayout);
    std::fill_n(sums_.begin(), blocks_ * kTile * kMatrixRows, 0.0F);
    if (weight_.layout.tiles_k > 0) {
      if (blocks_ == 1) {
        tile_by_tile();
      } else {
        rows_by_rows();
      }
    }
    Tiles::release();
    for (std::int64_t row = 0; row < task_.rows; ++row) {
      const float* from = sums_of(row / kMatrixRows, 0) + row % kMatrixRows;
      for (std::int64_t n = 0; n < kTile; ++n) {
        task_.sums[row * kTile + n] = from[n * kMatrixRows];
      }
    }
  }

 private:
  static constexpr std::int64_t kLongest = 4;  // tiles of a span
  static constexpr auto kOnes = [] {
    std::array<float, kTile> ones{};
    ones.fill(1.0F);
    return ones;
  }();

  /// From a tile on, up to `most`; empty past the last.
  Span span_at(std::int64_t tile, std::int64_t most) const {
    const std::int64_t last = std::min(weight_.layout.tiles_k, tile + most);
    const std::int64_t group = tile * kTile / columns_;
    if (together_ == 1) {
      return {tile, std::min(last, formats::ceil_div((group + 1) * columns_, kTile)), group, -1};
    }
    std::int64_t end = tile;
    while (end < last && codes_.takes_exponents(end)) ++end;
    if (end > tile) return {tile, end, group, -1};
    return {tile, std::min(last, tile + 1), group, 0};
  }

  Span after(const Span& span, std::int64_t most) const {
    if (span.part >= 0) {
      // A group past K has no columns, and its scale may be infinite.
      const std::int64_t columns = weight_.k - span.tile * kTile;
      const std::int64_t groups = std::min(together_, formats::ceil_div(columns, columns_));
      if (span.part + 1 < groups) return {span.tile, span.end, span.group, span.part + 1};
    }
    return span_at(span.end, most);
  }

  /// 16 rows of W, from 16 * rows on.
  void decode(const Span& span, std::int64_t rows, Decoded* out) const {
    const std::byte* lines =
        weight_.data + weight_.layout.codes +
        (task_.tile_row * weight_.layout.tiles_k + span.tile) * weight_.layout.tile_bytes +
        rows * (weight_.layout.tile_bytes / kRowsOfMatrices);
    for (std::int64_t tile = span.tile; tile < span.end; ++tile, ++out) {
      codes_.decode(lines, span, tile, rows, *out);
      lines += weight_.layout.tile_bytes;
    }
  }

  /// All 64 rows of one tile.
  void decode_tile(const Span& span, Decoded* out) const {
    for (std::int64_t rows = 0; rows < kRowsOfMatrices; ++rows) decode(span, rows, out + rows);
  }

  /// Up to 16 rows of A: sums of a tile's 64 rows are under way together, and while they are the
  /// codes of the next are looked up.
  void tile_by_tile() {
    Decoded* now = decoded_.data();
    Decoded* then = now + kRowsOfMatrices;
    Span span = span_at(0, 1);
    decode_tile(span, now);
    while (!span.empty()) {
      const Span next = after(span, 1);
      load_scales(span);
      zero<kRowsOfMatrices>();
      const std::byte* a = a_of(span);
      half_of_all<6, 0>(now, a);
      half_of_all<7, 1>(now, a + kMatrixBytes);
      decode_tile(next, then);
      scale<0>(0, 0);
      scale<1>(16, 0);
      scale<2>(32, 0);
      scale<3>(48, 0);
      span = next;
      std::swap(now, then);
    }
  }

  template <int kA, std::size_t kHalf>
  static void half_of_all(const Decoded* w, const std::byte* a) {
    Tiles::load<kA>(a, kRowBytes);
    product_of<0, kA>(w[0][kHalf]);
    product_of<1, kA>(w[1][kHalf]);
    product_of<2, kA>(w[2][kHalf]);
    product_of<3, kA>(w[3][kHalf]);
  }

  template <int kSum, int kA>
  static void product_of(const Matrix& w) {
    constexpr int kW = 4 + kSum % 2;
    Tiles::load<kW>(w.data(), kRowBytes);
    Tiles::multiply<kSum, kW, kA>();
  }

  /// More rows of A, two to four blocks of them: 16 rows of W at a time.
  void rows_by_rows() {
    Decoded* now = decoded_.data();
    Decoded* then = now + kLongest;
    Span span = span_at(0, kLongest);
    std::int64_t rows = 0;
    decode(span, rows, now);
    while (!span.empty()) {
      const bool last = rows + 1 == kRowsOfMatrices;
      const Span next = last ? after(span, kLongest) : span;
      const std::int64_t next_rows = last ? 0 : rows + 1;
      if (rows == 0) load_scales(span);
      const auto decode_next = [&] { decode(next, next_rows, then); };
      switch (blocks_) {
        case 2:
          multiply<2>(span, now, rows, decode_next);
          break;
        case 3:
          multiply<3>(span, now, rows, decode_next);
          break;
        default:
          multiply<4>(span, now, rows, decode_next);
      }
      span = next;
      rows = next_rows;
      std::swap(now, then);
    }
  }

  template <int kBlocks, typename Meanwhile>
  void multiply(const Span& span, const Decoded* w, std::int64_t rows, const Meanwhile& meanwhile) {
    zero<kBlocks>();
    const std::byte* a = a_of(span);
    for (std::int64_t i = 0; i < span.end - span.tile; ++i, a += task_.row_bytes) {
      half_of_blocks<kBlocks, 4>(w[i][0], a);
      half_of_blocks<kBlocks, 5>(w[i][1], a + kMatrixBytes);
    }
    meanwhile();
    scale<0>(kMatrixRows * rows, 0);
    scale<1>(kMatrixRows * rows, 1);
    if constexpr (kBlocks > 2) scale<2>(kMatrixRows * rows, 2);
    if constexpr (kBlocks > 3) scale<3>(kMatrixRows * rows, 3);
  }

  template <int kBlocks, int kW>
  static void half_of_blocks(const Matrix& w, const std::byte* a) {
    Tiles::load<kW>(w.data(), kRowBytes);
    product_with<0, kW>(a);
    product_with<1, kW>(a + AmxBlocks::kBytes);
    if constexpr (kBlocks > 2) product_with<2, kW>(a + 2 * AmxBlocks::kBytes);
    if constexpr (kBlocks > 3) product_with<3, kW>(a + 3 * AmxBlocks::kBytes);
  }

  template <int kSum, int kW>
  static void product_with(const std::byte* a) {
    constexpr int kA = 6 + kSum % 2;
    Tiles::load<kA>(a, kRowBytes);
    Tiles::multiply<kSum, kW, kA>();
  }

  template <int kSums>
  static void zero() {
    Tiles::zero<0>();
    Tiles::zero<1>();
    if constexpr (kSums > 2) Tiles::zero<2>();
    if constexpr (kSums > 3) Tiles::zero<3>();
  }

  const std::byte* a_of(const Span& span) const { return task_.a + span.tile * task_.row_bytes; }

  void load_scales(const Span& span) {
    if (span.part < 0 && together_ > 1) {
      factors_ = kOnes.data();  // the weights have them
    } else {
      scales_.load(span.group);
      factors_ = scales_.of(std::max<std::int64_t>(span.part, 0));
    }
  }

  float* sums_of(std::int64_t block, std::int64_t row) {
    return sums_.data() + (block * kTile + row) * kMatrixRows;
  }

  /// Adds register kSum to the sums of 16 rows of W and a block of A.
  template <int kSum>
  void scale(std::int64_t row, std::int64_t block) {
    alignas(64) std::array<float, kMatrixRows * kMatrixRows> sums;
    Tiles::store<kSum>(sums.data(), kRowBytes);
    const float* factors = factors_ + row;
    float* to = sums_of(block, row);
    for (std::size_t i = 0; i < kMatrixRows; ++i, to += kMatrixRows) {
      const __m512 sum = _mm512_load_ps(&sums[i * kMatrixRows]);
      _mm512_store_ps(to, _mm512_fmadd_ps(sum, _mm512_set1_ps(factors[i]), _mm512_load_ps(to)));
    }
  }

  const Task& task_;
  const Weight& weight_;
  const CodeRows codes_;
  RowScales scales_;
  const std::int64_t together_;     // groups of a tile
  const std::int64_t columns_;      // of a group
  const std::int64_t blocks_;       // of 16 rows of A
  const float* factors_ = nullptr;  // of the span's 64 rows
  // All rows of two tiles, or 16 of two spans.
  static_assert(kLongest == kRowsOfMatrices);
  alignas(64) std::array<Decoded, 2 * kLongest> decoded_;
  alignas(64) std::array<float, kMostAmxRows * kTile> sums_;  // [block of A][row of W][row of A]
};

/// A row's dwords in the matrix tiles of its block: those of pair 4 t + s are columns 16 s + 2 t,
/// or the next, and 8 further. `values` are the bf16 of a tile of K.
void pack_tile(const std::uint16_t* values, std::byte* out) {
  for (std::int64_t half = 0; half < 2; ++half, out += kMatrixBytes) {
    for (std::int64_t pair = 0; pair < 16; ++pair) {
      const std::uint16_t* from = values + pair % 4 * 16 + pair / 4 * 2 + half;
      const std::uint32_t both = from[0] | static_cast<std::uint32_t>(from[8]) << 16;
      std::memcpy(out + pair * kRowBytes, &both, sizeof both);
    }
  }
}

void pack_row(const Row& row) {
  if (row.type == DataType::bf16 && row.stride == 1 && !row.ordered && row.weight->k % kTile == 0) {
    const auto* from = static_cast<const std::uint16_t*>(row.a);
    for (std::int64_t tile = 0; tile < row.weight->layout.tiles_k; ++tile) {
      pack_tile(from + tile * kTile, row.out + tile * row.tile_bytes);
    }
    return;
  }
  for_tiles(row, [&](std::int64_t tile, const std::array<float, kTile>& values) {
    std::array<std::uint16_t, kTile> bits;  // they are bf16 already
    std::transform(values.begin(), values.end(), bits.begin(), numeric::to_bf16);
    pack_tile(bits.data(), row.out + tile * row.tile_bytes);
  });
}

}  // namespace

const KernelTable* amx_kernels() {
  static constexpr KernelTable table{nullptr,
                                     {.pack_row = pack_row,
                                      .multiply = [](const Task& task) { AmxStream(task).run(); },
                                      .a_bytes = 2,
                                      .most_rows = kMostAmxRows,
                                      .in_blocks = true},
                                     {}};
  return &table;
}

}  // namespace gemwright::cpu_lowbit
#else
namespace gemwright::cpu_lowbit {
const KernelTable* amx_kernels() {
  return nullptr;
}
}  // namespace gemwright::cpu_lowbit
#endif
