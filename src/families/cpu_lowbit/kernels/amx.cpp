// 4-bit codes looked up by permutes in AVX-512 registers and multiplied by AMX, streamed past many
// rows of A.
//
// 64 adjacent bytes of a tile are two rows of W (n and n + 8) over all of its 64 columns: word
// 8 t + 2 s + f has four codes, those of columns c = 16 s + 8 f + 2 t and c + 1 of row n, then of
// row n + 8. A permute of words reads the lowest of them, so that it makes of a line what a row of
// a matrix tile is: 32 columns of one row, first the even ones, then the odd ones, in the order of
// the words. A is packed in that order: pair 4 t + s of a tile has the columns of f = 0 and f = 1.
//
// Sums of a group are scaled in fp32. Where a tile of W has several groups, A is packed once for
// each, with zeros in the columns of the others.
#include "families/cpu_lowbit/kernels/table.hpp"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
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
constexpr std::int64_t kMatrixRows = 16;
constexpr std::int64_t kMatrixBytes = kMatrixRows * kRowBytes;
/// Rows of matrix tiles in a tile of W, and the sums that are under way at a time.
constexpr int kRowsOfMatrices = 4;
/// Bytes ahead in the stream of codes that are asked for, into L2.
constexpr std::int64_t kCodesAhead = 12288;

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
    for (std::size_t i = 0; i < 256 * 32; ++i) {
      all[i / 32].words[i % 32] =
          numeric::to_bf16(static_cast<float>(i % 16) - static_cast<float>(i / 32));
    }
    return all;
  }();
  return tables.data();
}

/// What the codes of a row of tiles stand for.
class CodeRows {
 public:
  CodeRows(const Weight& weight, std::int64_t tile_row)
      : zeros_(weight.format.zero == Zero::symmetric
                   ? nullptr
                   : weight.data + weight.layout.zeros + tile_row * weight.layout.groups * kTile),
        tables_(less_zero_points()) {
    for (std::size_t i = 0; i < 32; ++i) {
      entries_.words[i] = numeric::to_bf16(weight.entries[i % 16]);
    }
  }

  /// 8 lines, 16 rows of a tile from 16 * rows on, of a group (where there are zero points).
  void decode(const std::byte* lines, std::int64_t group, std::int64_t rows, Decoded& out) const {
    if (zeros_ == nullptr) {
      const __m512i table = entries_.load();
      for (std::size_t row = 0; row < 8; ++row) put(lines + row * 64, row, table, table, out);
      return;
    }
    const std::byte* zeros = zeros_ + group * kTile + rows * kMatrixRows;
    for (std::size_t row = 0; row < 8; ++row, zeros += 2) {
      put(lines + row * 64, row, tables_[static_cast<std::size_t>(zeros[0])].load(),
          tables_[static_cast<std::size_t>(zeros[1])].load(), out);
    }
  }

 private:
  /// A line: rows `row` and `row` + 8.
  static void put(const std::byte* line, std::size_t row, __m512i near, __m512i far, Decoded& out) {
    const __m512i codes = _mm512_loadu_si512(line);
    _mm_prefetch(reinterpret_cast<const char*>(line + kCodesAhead), _MM_HINT_T1);
    const auto store = [&](std::size_t half, std::size_t to, __m512i indices, __m512i table) {
      _mm512_store_si512(&out[half][to * 32], _mm512_permutexvar_epi16(indices, table));
    };
    store(0, row, codes, near);
    store(1, row, _mm512_srli_epi16(codes, 4), near);
    store(0, row + 8, _mm512_srli_epi16(codes, 8), far);
    store(1, row + 8, _mm512_srli_epi16(codes, 12), far);
  }

  const std::byte* const zeros_;  // [group][row pair][n, n + 8]; null where there are none
  const Entries* const tables_;
  Entries entries_;
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

  const float* of(std::int64_t group, std::int64_t row) const {
    return values_.data() + group * kTile + row;
  }

 private:
  const ScaleType type_;
  const std::int64_t together_;
  const std::byte* const from_;
  alignas(64) std::array<float, 4 * kTile> values_;
};

/// Tiles of K whose sums are scaled together.
struct Span {
  std::int64_t tile, end;
  std::int64_t group;  // the first, or the only one
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
        blocks_(formats::ceil_div(task.rows, kMatrixRows)),
        block_bytes_(together_ * 2 * kMatrixBytes) {}

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

  /// From a tile on, up to `most`; empty past the last.
  Span span_at(std::int64_t tile, std::int64_t most) const {
    const std::int64_t group = tile * kTile / columns_;
    const std::int64_t of_group =
        together_ > 1 ? tile + 1 : formats::ceil_div((group + 1) * columns_, kTile);
    return {tile, std::min({weight_.layout.tiles_k, tile + most, of_group}), group};
  }

  /// Groups of a span with columns below K: the scale of another may be infinite.
  std::int64_t groups_of(const Span& span) const {
    return std::min(together_, formats::ceil_div(weight_.k - span.tile * kTile, columns_));
  }

  /// 16 rows of W, from 16 * rows on.
  void decode(const Span& span, std::int64_t rows, Decoded* out) const {
    const std::byte* lines =
        weight_.data + weight_.layout.codes +
        (task_.tile_row * weight_.layout.tiles_k + span.tile) * weight_.layout.tile_bytes +
        rows * (weight_.layout.tile_bytes / kRowsOfMatrices);
    for (std::int64_t tile = span.tile; tile < span.end; ++tile, ++out) {
      codes_.decode(lines, span.group, rows, *out);
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
    while (span.tile < span.end) {
      const Span next = span_at(span.end, 1);
      const std::int64_t groups = groups_of(span);
      scales_.load(span.group);
      for (std::int64_t group = 0; group < groups; ++group) {
        zero<kRowsOfMatrices>();
        const std::byte* a = a_of(span, 0, group);
        half_of_all<6, 0>(now, a);
        half_of_all<7, 1>(now, a + kMatrixBytes);
        if (group + 1 == groups) decode_tile(next, then);
        scale<0>(0, 0, group);
        scale<1>(16, 0, group);
        scale<2>(32, 0, group);
        scale<3>(48, 0, group);
      }
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

  /// More rows of A: 16 rows of W at a time, with up to four blocks of A.
  void rows_by_rows() {
    Decoded* now = decoded_.data();
    Decoded* then = now + kLongest;
    Span span = span_at(0, kLongest);
    std::int64_t rows = 0;
    decode(span, rows, now);
    while (span.tile < span.end) {
      const bool last = rows + 1 == kRowsOfMatrices;
      const Span next = last ? span_at(span.end, kLongest) : span;
      const std::int64_t next_rows = last ? 0 : rows + 1;
      if (rows == 0) scales_.load(span.group);
      for (std::int64_t block = 0; block < blocks_; block += kRowsOfMatrices) {
        const bool at_end = block + kRowsOfMatrices >= blocks_;
        const auto decode_next = [&] {
          if (at_end) decode(next, next_rows, then);
        };
        switch (std::min<std::int64_t>(kRowsOfMatrices, blocks_ - block)) {
          case 1:
            multiply<1>(span, now, rows, block, decode_next);
            break;
          case 2:
            multiply<2>(span, now, rows, block, decode_next);
            break;
          case 3:
            multiply<3>(span, now, rows, block, decode_next);
            break;
          default:
            multiply<4>(span, now, rows, block, decode_next);
        }
      }
      span = next;
      rows = next_rows;
      std::swap(now, then);
    }
  }

  template <int kBlocks, typename Meanwhile>
  void multiply(const Span& span, const Decoded* w, std::int64_t rows, std::int64_t block,
                const Meanwhile& meanwhile) {
    const std::int64_t groups = groups_of(span);
    for (std::int64_t group = 0; group < groups; ++group) {
      zero<kBlocks>();
      const std::byte* a = a_of(span, block, group);
      for (std::int64_t i = 0; i < span.end - span.tile; ++i, a += task_.row_bytes) {
        half_of_blocks<kBlocks, 4>(w[i][0], a, block_bytes_);
        half_of_blocks<kBlocks, 5>(w[i][1], a + kMatrixBytes, block_bytes_);
      }
      if (group + 1 == groups) meanwhile();
      scale<0>(kMatrixRows * rows, block, group);
      if constexpr (kBlocks > 1) scale<1>(kMatrixRows * rows, block + 1, group);
      if constexpr (kBlocks > 2) scale<2>(kMatrixRows * rows, block + 2, group);
      if constexpr (kBlocks > 3) scale<3>(kMatrixRows * rows, block + 3, group);
    }
  }

  template <int kBlocks, int kW>
  static void half_of_blocks(const Matrix& w, const std::byte* a, std::int64_t block_bytes) {
    Tiles::load<kW>(w.data(), kRowBytes);
    product_with<0, kW>(a);
    if constexpr (kBlocks > 1) product_with<1, kW>(a + block_bytes);
    if constexpr (kBlocks > 2) product_with<2, kW>(a + 2 * block_bytes);
    if constexpr (kBlocks > 3) product_with<3, kW>(a + 3 * block_bytes);
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
    if constexpr (kSums > 1) Tiles::zero<1>();
    if constexpr (kSums > 2) Tiles::zero<2>();
    if constexpr (kSums > 3) Tiles::zero<3>();
  }

  const std::byte* a_of(const Span& span, std::int64_t block, std::int64_t group) const {
    return task_.a + span.tile * task_.row_bytes + block * block_bytes_ + group * 2 * kMatrixBytes;
  }

  float* sums_of(std::int64_t block, std::int64_t row) {
    return sums_.data() + (block * kTile + row) * kMatrixRows;
  }

  /// Adds register kSum to the sums of 16 rows of W and a block of A.
  template <int kSum>
  void scale(std::int64_t row, std::int64_t block, std::int64_t group) {
    alignas(64) std::array<float, kMatrixRows * kMatrixRows> sums;
    Tiles::store<kSum>(sums.data(), kRowBytes);
    const float* factors = scales_.of(group, row);
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
  const std::int64_t together_;  // groups of a tile
  const std::int64_t columns_;   // of a group
  const std::int64_t blocks_;    // of 16 rows of A
  const std::int64_t block_bytes_;
  // All rows of two tiles, or 16 of two spans.
  static_assert(kLongest == kRowsOfMatrices);
  alignas(64) std::array<Decoded, 2 * kLongest> decoded_;
  alignas(64) std::array<float, kMostAmxRows * kTile> sums_;  // [block of A][row of W][row of A]
};

/// A row's dwords in the matrix tiles of its block: those of pair 4 t + s are columns 16 s + 2 t,
/// or the next, and 8 further. `values` are the bf16 of a tile of K.
void pack_tile(const std::uint16_t* values, std::int64_t together, std::byte* out) {
  for (std::int64_t group = 0; group < together; ++group) {
    for (std::int64_t half = 0; half < 2; ++half, out += kMatrixBytes) {
      for (std::int64_t pair = 0; pair < 16; ++pair) {
        const std::int64_t step = pair % 4;
        const std::uint16_t* from = values + 16 * step + pair / 4 * 2 + half;
        const bool here = step * together / 4 == group;
        const std::uint32_t both = here ? from[0] | static_cast<std::uint32_t>(from[8]) << 16 : 0U;
        std::memcpy(out + pair * kRowBytes, &both, sizeof both);
      }
    }
  }
}

void pack_row(const Row& row) {
  const std::int64_t together = formats::groups_together(row.weight->format, row.weight->k);
  if (row.type == DataType::bf16 && row.stride == 1 && !row.ordered && row.weight->k % kTile == 0) {
    const auto* from = static_cast<const std::uint16_t*>(row.a);
    for (std::int64_t tile = 0; tile < row.weight->layout.tiles_k; ++tile) {
      pack_tile(from + tile * kTile, together, row.out + tile * row.tile_bytes);
    }
    return;
  }
  for_tiles(row, [&](std::int64_t tile, const std::array<float, kTile>& values) {
    std::array<std::uint16_t, kTile> bits;  // they are bf16 already
    std::transform(values.begin(), values.end(), bits.begin(), numeric::to_bf16);
    pack_tile(bits.data(), together, row.out + tile * row.tile_bytes);
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
