// What the family asks of its kernels, each compiled for its own instruction set.
#pragma once

#include "formats/packed_layout.hpp"
#include <gemwright/types.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace gemwright::cpu_lowbit {

/// Rows of A that one pass of a streaming kernel over the weight serves, at most: of vectors, and
/// of AMX.
inline constexpr int kMostRows = 8;
inline constexpr int kMostAmxRows = 64;
/// Bytes ahead in the stream of codes that are asked for, into L2: past the end of the page, where
/// the processor's own prefetcher stops.
inline constexpr std::int64_t kCodesAhead = 12288;
/// Rows of W in a panel: columns of B that cpu_packed's micro-kernels take side by side.
inline constexpr std::int64_t kPanelRows = 16;

/// A packed weight in memory.
struct Weight {
  WeightFormat format;
  formats::PackedLayout layout;
  const std::byte* data = nullptr;
  std::int64_t n = 0;
  std::int64_t k = 0;
  /// Of the codes, rounded as the problem says; unless each row has its own.
  std::array<float, 256> entries{};
  /// The type that entries of a row's own codebook are rounded to.
  DataType entry_type = DataType::f32;
};

/// Rows [16 panel, 16 panel + 16) of W over tiles [begin, end) of K as numbers, with their zero
/// points and scales but without the global one: out[64 (end - begin)][16]. Anything past N and K.
using DecodePanel = void (*)(const Weight& weight, std::int64_t panel, std::int64_t begin,
                             std::int64_t end, float* out);

/// Rows of A over one row of tiles: sums[row][64] = sum over k of a[row][k] * w[n][k], without the
/// global scale.
struct Task {
  const Weight* weight = nullptr;
  std::int64_t tile_row = 0;
  /// Packed by pack_row, `row_bytes` apart; for AMX blocks of rows, whose tiles of K are.
  const std::byte* a = nullptr;
  std::int64_t row_bytes = 0;
  int rows = 1;
  float* sums = nullptr;
};

/// K elements of A, `stride` apart, that are to stand in the order of the weight's packed columns,
/// with zeros past K. Unless `ordered` they do already.
struct Row {
  const Weight* weight = nullptr;
  const void* a = nullptr;
  DataType type = DataType::f32;
  std::int64_t stride = 1;
  bool ordered = false;
  std::byte* out = nullptr;
  /// For AMX: from a tile of K to the next, AmxBlocks::tile_bytes.
  std::int64_t tile_bytes = 0;
};

/// How A is packed for AMX: [tile of K][block of 16 rows][half][pair][16 rows][2] as bf16. A block
/// of a tile is two matrix tiles of 1 KB.
struct AmxBlocks {
  static constexpr std::int64_t kRows = 16;
  static constexpr std::int64_t kBytes = 2048;
  std::int64_t tile_bytes;
  std::int64_t bytes;

  AmxBlocks(std::int64_t m, std::int64_t k)
      : tile_bytes(formats::ceil_div(m, kRows) * kBytes),
        bytes(formats::ceil_div(k, formats::kTile) * tile_bytes) {}

  /// Where a row's first element is, and those of a block that begins with it.
  static std::int64_t place(std::int64_t row) { return row / kRows * kBytes + row % kRows * 4; }
};

/// Whether a scale times an entry is that entry with another exponent.
inline bool scales_are_exponents(const WeightFormat& format) {
  return format.scale == ScaleType::e8m0 && format.codes == Codes::e2m1;
}

/// Columns that are summed as integers before the sum is scaled, at most: 256 codes of A add up to
/// less than 2^15.
inline constexpr std::int64_t kMostSegment = 256;
/// Tiles of K in a block of codes: whole segments.
inline constexpr std::int64_t kBlockTiles = 8;
/// Rows of A that a kernel for integers takes at once, at most.
inline constexpr int kIntegerRows = 4;

/// Rows of A that a block of codes serves once decoded: their sums stay in the L2 cache beside it.
inline constexpr std::int64_t kRowsOfBlock = 192;

/// Columns of such a sum, which has one scale: those of a group, as far as they are not too many.
inline std::int64_t segment_columns(const WeightFormat& format, std::int64_t k) {
  return format.group == 0 ? kMostSegment
                           : std::min(formats::group_columns(format, k), kMostSegment);
}

/// 64 rows of W over up to kBlockTiles tiles of K as unsigned integers: w = (code - zero) * scale.
struct CodeBlock {
  std::int64_t columns = 0;  ///< of K, whole tiles
  std::int64_t segment = 0;  ///< segment_columns
  /// [place][row][4]: four columns in the order of integer_column.
  alignas(64) std::array<std::uint8_t, kBlockTiles * formats::kTile * formats::kTile> codes;
  /// [segment][row]
  alignas(64) std::array<float, kBlockTiles * 4 * formats::kTile> scales;
  alignas(64) std::array<std::int32_t, kBlockTiles * 4 * formats::kTile> zeros;
};

/// The column of a tile that is the i-th of a place: those that a word of 4-bit codes has of a row.
constexpr std::int64_t integer_column(std::int64_t place, std::int64_t i) {
  return place / 4 * 16 + place % 4 * 2 + i % 2 + i / 2 * 8;
}

/// A row of A as int8: the codes of all tiles, four to a place and 0 past K; then, as int32, minus
/// the sum of those of each segment.
struct IntegerRow {
  std::int64_t columns = 0;  ///< of whole tiles: bytes before the sums
  std::int64_t segment = 0;  ///< segment_columns
  std::int64_t bytes = 0;

  IntegerRow(const WeightFormat& format, std::int64_t k)
      : columns(formats::ceil_div(k, formats::kTile) * formats::kTile),
        segment(segment_columns(format, k)),
        bytes(columns + formats::ceil_div(columns, segment) * 4) {}
};

/// K elements, in the order of the weight's columns, to an IntegerRow. Returns the row's scale; the
/// elements are lost.
using RoundRow = float (*)(float* row, std::int64_t k, const IntegerRow& layout, std::byte* out);

/// Up to kIntegerRows rows of A, as int8, over a block: sums[row][64] += those of the products with
/// W, without the scale of the row of A and the global one of W.
struct IntegerTask {
  const CodeBlock* block = nullptr;
  /// The block's columns and segments of an IntegerRow, `row_bytes` apart.
  const std::int8_t* a = nullptr;
  const std::int32_t* minus_sums = nullptr;
  std::int64_t row_bytes = 0;
  int rows = 1;
  float* sums = nullptr;
};

/// Integer codes and E2M1, whose groups do not run across rows, times activations of 8 bits.
struct IntegerKernels {
  RoundRow round = nullptr;
  /// Tiles [begin, end) of K of a row of tiles.
  void (*decode)(const Weight& weight, std::int64_t tile_row, std::int64_t begin, std::int64_t end,
                 CodeBlock& block) = nullptr;
  void (*multiply)(const IntegerTask&) = nullptr;  ///< null when the instruction set has none
};

/// 4-bit codes without zero points whose groups do not run across rows, looked up by permutes as
/// they stream past.
struct StreamKernels {
  void (*pack_row)(const Row&) = nullptr;
  void (*multiply)(const Task&) = nullptr;  ///< null when the instruction set has none
  int a_bytes = 4;                          ///< of an element of A once packed
  /// Instead of pack_row: rows are rounded to IntegerRows, and codes are not looked up.
  RoundRow round = nullptr;
  int most_rows = kMostRows;  ///< of a task
  bool in_blocks = false;     ///< A is packed as AmxBlocks says
};

struct KernelTable {
  DecodePanel decode_panel;  ///< any format; null when the instruction set has none
  StreamKernels stream;
  IntegerKernels integers;
};

/// Null when the build has none.
const KernelTable* scalar_kernels();
const KernelTable* avx2_kernels();
const KernelTable* avx512_kernels();
/// bf16 dot products: A and the entries are bf16.
const KernelTable* avx512_bf16_kernels();
/// Dot products of four 8-bit integers.
const KernelTable* avx512_vnni_kernels();
/// bf16 matrix tiles: A and the entries are bf16.
const KernelTable* amx_kernels();

}  // namespace gemwright::cpu_lowbit
