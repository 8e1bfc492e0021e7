// How a low-bit weight is coded. docs/formats.md defines every format and where it comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace gemwright {

/// What a code stands for.
enum class Codes : std::uint8_t {
  integer,          ///< the code minus a zero point
  normal_float,     ///< entry of the NF2, NF3 or NF4 codebook
  fp4,              ///< entry of the codebook that bitsandbytes calls FP4
  e2m1,             ///< OCP FP4: sign, 2 bits of exponent, 1 of mantissa
  e4m3,             ///< OCP FP8 with finite range 448 and no infinity
  e5m2,             ///< OCP FP8 with infinities
  learned,          ///< entry of one codebook that comes with the weight
  learned_per_row,  ///< entry of the row's own codebook
};

/// What is subtracted from an integer code.
enum class Zero : std::uint8_t {
  symmetric,  ///< 2^(bits-1), everywhere
  integer,    ///< an integer of its group, 0 to 2^bits (255 of 8 bits)
  real,       ///< a number of its group, of the scale's type
};

/// Which weights share a scale.
enum class Grouping : std::uint8_t {
  along_k,  ///< `group` neighbours along K, in one row; the last group of a row may be short
  row,      ///< a whole row
  tensor,   ///< the whole weight
  flat,     ///< `group` neighbours of W[N,K] read as one line: groups may run across rows
  block,    ///< a square of `group` rows by `group` columns
};

enum class ScaleType : std::uint8_t {
  f32,
  f16,
  bf16,
  e8m0,  ///< 2^(bits - 127); 255 is NaN
  e4m3,
};

/// A weight's value is (codebook[code] or code - zero) * scale * global scale, in real numbers.
/// Plain data; check() says whether the fields fit each other.
struct WeightFormat {
  Codes codes = Codes::integer;
  /// 2, 3, 4 or 8.
  std::int32_t bits = 4;
  Zero zero = Zero::symmetric;
  Grouping grouping = Grouping::along_k;
  /// Of along_k: 16 to 256; of flat: 16 to 4096; of block: 64 or 128; powers of two. Else 0.
  std::int32_t group = 128;
  ScaleType scale = ScaleType::bf16;
  /// An fp32 factor of the whole weight besides (NVFP4).
  bool global_scale = false;
  /// Columns are grouped in an order that comes with the weight (GPTQ's activation order).
  bool ordered = false;

  /// Throws InvalidArgument naming the field ("format.bits", ...).
  void check() const;

  bool operator==(const WeightFormat&) const = default;
};

/// One word that names a format, for instance "nf4:g64:bf16", "int4z:g128:f16:order",
/// "e2m1:g16:e4m3*f32", "e4m3:128x128:f32". parse_weight_format reads it back.
std::string key(const WeightFormat& format);

/// A key, or the name of a preset: nf4, nf3, nf2, fp4, bnb-nf4, bnb-fp4, int8, int4, int3, int2
/// (symmetric), int4z ... (with zero points), mxfp4, mxfp8, nvfp4, fp8, fp8-block, lut4, lut3, lut2
/// (learned). Throws InvalidArgument naming the part that is wrong.
WeightFormat parse_weight_format(std::string_view text);

/// Whether codes are looked up in a table of 2^bits entries (and not computed).
bool has_codebook(const WeightFormat& format);

}  // namespace gemwright

#pragma GCC visibility pop
