// Where everything of a packed low-bit weight lies: the one layout that every kernel reads, for any
// M, on CPUs and GPUs. docs/formats.md, "Packed weight", says why it is as it is.
#pragma once

#include "numeric/ceil_div.hpp"
#include <gemwright/weight_format.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace gemwright::formats {

using numeric::ceil_div;

/// Rows (n) and columns (k) of a tile: what a warp group's `wgmma` takes in four steps of K = 16.
inline constexpr std::int64_t kTile = 64;
/// Sections begin at multiples of it.
inline constexpr std::int64_t kSectionAlignment = 256;
inline constexpr std::uint32_t kPackedVersion = 1;

/// The first bytes of a packed weight.
struct PackedHeader {
  std::array<char, 8> magic{'G', 'W', 'W', 'E', 'I', 'G', 'H', 'T'};
  std::uint32_t version = kPackedVersion;
  float global_scale = 1.0F;
  std::int64_t n = 0;
  std::int64_t k = 0;
  /// key(format), padded with zeros.
  std::array<char, 96> format{};
  std::array<char, 128> reserved{};
};
static_assert(sizeof(PackedHeader) == 256);

/// Offsets in bytes from the header's first byte; a section that the format lacks is empty.
struct PackedLayout {
  std::int64_t tiles_n = 0;
  std::int64_t tiles_k = 0;
  /// Scales of a row, padded so that every tile has its own.
  std::int64_t groups = 0;
  std::int64_t tile_bytes = 0;

  std::int64_t codes = 0;   ///< [tiles_n][tiles_k][tile_bytes]
  std::int64_t scales = 0;  ///< [tiles_n][groups * 64] of the scale's type, ordered by scale_place
  std::int64_t zeros = 0;   ///< as scales, of uint8 (integer) or of the scale's type (real)
  std::int64_t table = 0;   ///< [2^bits] of fp32, or [tiles_n * 64][2^bits] where per row
  std::int64_t order = 0;   ///< int32 [tiles_k * 64]: packed column j is column order[j] of W
  std::int64_t bytes = 0;
};

constexpr int size_bytes(ScaleType type) {
  switch (type) {
    case ScaleType::f32:
      return 4;
    case ScaleType::f16:
    case ScaleType::bf16:
      return 2;
    case ScaleType::e8m0:
    case ScaleType::e4m3:
      return 1;
  }
  return 0;
}

/// Of a format that passes check() and sizes from 0 to 2^40.
PackedLayout packed_layout(const WeightFormat& format, std::int64_t n, std::int64_t k);

/// Whether flat blocks begin in one row and end in the next.
inline bool runs_across_rows(const WeightFormat& format, std::int64_t k) {
  return format.grouping == Grouping::flat && k % format.group != 0;
}

/// The format by which a weight of K columns is multiplied: flat blocks that divide a row are
/// groups along K.
inline WeightFormat resolved(WeightFormat format, std::int64_t k) {
  const bool in_rows = format.grouping == Grouping::flat && !runs_across_rows(format, k);
  if (in_rows && format.group <= 256) format.grouping = Grouping::along_k;
  return format;
}

/// Scales of row n begin `phase` columns before column 0: not 0 only for flat blocks that run
/// across rows. The scale of column k is the row's number (k + phase) / group.
inline std::int64_t phase(const WeightFormat& format, std::int64_t n, std::int64_t k_size) {
  return format.grouping == Grouping::flat ? n * k_size % format.group : 0;
}

/// Columns that share a scale; all of K where a row or the tensor does.
inline std::int64_t group_columns(const WeightFormat& format, std::int64_t k_size) {
  return format.group > 0 ? format.group : (k_size > 0 ? k_size : 1);
}

/// Groups of a row that every tile holds complete and whose scales stand together.
inline std::int64_t groups_together(const WeightFormat& format, std::int64_t k_size) {
  const bool aligned = format.grouping == Grouping::along_k ||
                       (format.grouping == Grouping::flat && !runs_across_rows(format, k_size));
  return aligned && format.group < kTile ? kTile / format.group : 1;
}

/// Where the scale of a group of a row (of the 64 of a tile) lies among those of all rows of tiles
/// with the same n, with `together` of groups_together: [groups / together][row / 16][row % 8]
/// [together][row % 16 / 8]. A thread's two rows of a fragment so have their scales in one load.
constexpr std::int64_t scale_place(std::int64_t together, std::int64_t row, std::int64_t group) {
  const std::int64_t pair = 8 * (row / 16) + row % 8;
  return 2 * ((group / together * 32 + pair) * together + group % together) + row % 16 / 8;
}

/// Codes of two neighbours in K stand next to each other, so that a table of pairs is indexed by
/// their bits; else they stand 16 bits apart, so that one mask leaves both in the halves of a word.
/// Four bits are looked up whatever they are: a byte permute and a load a pair are less work than
/// any arithmetic.
inline bool paired(const WeightFormat& format) {
  return format.bits >= 4 || has_codebook(format);
}

/// Where the code of an element of a tile lies: bits [shift, shift + width) of the byte.
struct CodePlace {
  std::int64_t byte = 0;
  int shift = 0;
};

/// `plane_bits` bits of the code at (row, column) of a tile; the plane begins at the byte 0. Codes
/// of 2, 4 and 8 bits are one plane; 3-bit codes are a plane of their low 2 bits (1024 bytes), then
/// one of their high bit (512).
///
/// Thread T = 32 * (row / 16) + 4 * (row % 8) + (column % 8) / 2 of the 128 holds the positions
/// that the fragment of m64k16 gives it: in step s = column / 16, register i = (row % 16) / 8 + 2 *
/// ((column % 16) / 8), half h = column % 2. Pair j = 4 * s + i of its 16 pairs lies in the 32-bit
/// word j / (16 / bits) of the thread's; in there, with c = j % (16 / bits):
///   paired: bit 2 * bits * c + bits * h        else: bit bits * c + 16 * h
/// A thread's words of the plane are adjacent; where they are 8 (8-bit codes), the first 4 of every
/// thread come first and then the last 4, so that each is one 16-byte vector.
constexpr CodePlace code_place(int plane_bits, bool is_paired, std::int64_t row,
                               std::int64_t column) {
  const std::int64_t thread = 32 * (row / 16) + 4 * (row % 8) + (column % 8) / 2;
  const std::int64_t pair = 4 * (column / 16) + (row % 16) / 8 + 2 * ((column % 16) / 8);
  const std::int64_t half = column % 2;
  const std::int64_t pairs = 16 / plane_bits;
  const std::int64_t word = pair / pairs;
  const std::int64_t c = pair % pairs;
  const std::int64_t bit =
      is_paired ? 2 * plane_bits * c + plane_bits * half : plane_bits * c + 16 * half;
  const std::int64_t words = plane_bits <= 4 ? plane_bits : 4;
  const std::int64_t at = 2048 * (word / words) + 4 * (words * thread + word % words);
  return {at + bit / 8, static_cast<int>(bit % 8)};
}

}  // namespace gemwright::formats
