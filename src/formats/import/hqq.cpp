#include "formats/groups.hpp"
#include "formats/import/import.hpp"
#include <gemwright/errors.hpp>

namespace gemwright::formats {
namespace {

constexpr std::string_view kPacked[] = {"U8", "I32"};
constexpr std::string_view kShapeTypes[] = {"I64", "I32"};

// HQQ splits the groups (rows of W_q as it is unpacked) into as many parts as a word holds codes:
// word [row][column] has the codes of row, row + step, row + 2 step, ..., the first one highest.
struct Packing {
  int codes_a_word = 1;
  int bits = 8;
};

std::uint32_t code_of(const RawTensor& words, const Packing& packing, std::int64_t row,
                      std::int64_t column) {
  const std::int64_t step = words.shape[0];
  const int shift = packing.bits * (packing.codes_a_word - 1 - static_cast<int>(row / step));
  return (words.bits(row % step * words.shape[1] + column) >> shift) & ((1U << packing.bits) - 1);
}

}  // namespace

CodedWeight import_hqq(const Parts& parts, const ImportOptions& options) {
  const RawTensor& words = parts.get("W_q", kPacked, 2);
  const RawTensor& scales = parts.numbers("scale");
  const RawTensor& zeros = parts.numbers("zero");
  const RawTensor& shape = parts.get("shape", kShapeTypes, 1);
  require_shape(shape, {2});
  CodedWeight weight;
  weight.n = shape.integer(0);
  weight.k = shape.integer(1);
  const std::int64_t groups = scales.elements();
  const std::int64_t elements = weight.n * weight.k;
  if (weight.n < 1 || weight.k < 1 || groups < 1 || elements % groups != 0) {
    throw InvalidArgument(shape.name, "sizes that the scales do not divide", "N and K");
  }
  const std::int64_t group = elements / groups;
  if (words.shape[1] != group || zeros.elements() != groups || zeros.type != scales.type) {
    throw InvalidArgument(words.name + ".shape", "rows of " + std::to_string(words.shape[1]),
                          "rows of " + std::to_string(group) +
                              ": groups along axis 1, and zero points of the scales' type");
  }
  const std::int64_t held = ceil_div(groups, words.shape[0]);
  Packing packing{static_cast<int>(held), options.bits};
  if (options.bits == 0) packing.bits = words.type == "I32" ? 3 : static_cast<int>(8 / held);
  if (packing.bits == 3) packing.codes_a_word = 10;
  const bool fits = words.type == "I32" ? packing.bits == 3 && held <= 10
                                        : packing.bits * packing.codes_a_word == 8;
  if (!fits) {
    throw InvalidArgument(words.name, std::to_string(held) + " codes in a word of " + words.type,
                          "4bit_u8, 2bit_u8, 8bit_u8 or 3bit_32 packing");
  }
  weight.format = {.codes = Codes::integer,
                   .bits = packing.bits,
                   .zero = Zero::real,
                   .grouping = group == weight.k ? Grouping::row : Grouping::flat,
                   .group = group == weight.k ? 0 : static_cast<std::int32_t>(group),
                   .scale = scale_type_of(scales)};
  if (weight.format.grouping == Grouping::flat && weight.k % group == 0 && group <= 256) {
    weight.format.grouping = Grouping::along_k;
  }
  weight.format.check();
  weight.codes.reserve(static_cast<std::size_t>(elements));
  for (std::int64_t row = 0; row < groups; ++row) {
    for (std::int64_t column = 0; column < group; ++column) {
      weight.codes.push_back(static_cast<std::uint8_t>(code_of(words, packing, row, column)));
    }
  }
  weight.scales = scale_bits_of(scales);
  weight.zeros = scale_bits_of(zeros);
  return weight;
}

}  // namespace gemwright::formats
