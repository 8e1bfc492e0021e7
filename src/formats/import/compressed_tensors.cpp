#include "formats/import/column_groups.hpp"
#include "formats/import/import.hpp"
#include "formats/packed_layout.hpp"
#include <gemwright/errors.hpp>

namespace gemwright::formats {
namespace {

constexpr std::string_view kIntegers[] = {"I64", "I32"};

// Scales of [N][G], of [N][1] or [N] for rows, of one element for the tensor.
void take_scales(CodedWeight& weight, const RawTensor& scales, const ImportOptions& options) {
  weight.format.scale = scale_type_of(scales);
  if (scales.elements() == 1 && weight.n != 1) {
    weight.format.grouping = Grouping::tensor;
    weight.format.group = 0;
  } else {
    const std::int64_t groups = scales.shape.size() == 2 ? scales.shape[1] : 1;
    if (scales.elements() != weight.n * groups) {
      throw InvalidArgument(scales.name, std::to_string(scales.elements()) + " elements",
                            "one, one for each row, or one for each group of each row");
    }
    set_groups(weight.format, weight.k, groups, options, scales.name);
  }
  weight.scales = scale_bits_of(scales);
}

}  // namespace

CodedWeight import_pack_quantized(const Parts& parts, const ImportOptions& options) {
  const RawTensor& packed = parts.get("weight_packed", "I32", 2);
  const RawTensor& shape = parts.get("weight_shape", kIntegers, 1);
  require_shape(shape, {2});
  CodedWeight weight;
  weight.n = shape.integer(0);
  weight.k = shape.integer(1);
  if (weight.n < 0 || weight.k < 1 || weight.n != packed.shape[0]) {
    throw InvalidArgument(shape.name, "sizes that are not those of weight_packed", "N and K");
  }
  const int bits =
      options.bits > 0 ? options.bits : static_cast<int>(packed.shape[1] * 32 / weight.k);
  weight.format.bits = bits;
  require_shape(packed, {weight.n, ceil_div(weight.k * bits, 32)});
  take_scales(weight, parts.numbers("weight_scale"), options);
  weight.format.check();

  weight.codes.resize(static_cast<std::size_t>(weight.n * weight.k));
  for (std::int64_t row = 0; row < weight.n; ++row) {
    for (std::int64_t column = 0; column < weight.k; ++column) {
      weight.codes[static_cast<std::size_t>(row * weight.k + column)] =
          static_cast<std::uint8_t>(stream_field(packed, row * packed.shape[1], 1, column, bits));
    }
  }
  if (parts.has("weight_zero_point")) {
    const RawTensor& zeros = parts.get("weight_zero_point", "I32", 2);
    const std::int64_t groups = std::ssize(weight.scales) / std::max<std::int64_t>(weight.n, 1);
    require_shape(zeros, {ceil_div(weight.n * bits, 32), groups});
    weight.format.zero = Zero::integer;
    for (std::int64_t row = 0; row < weight.n; ++row) {
      for (std::int64_t group = 0; group < groups; ++group) {
        weight.zeros.push_back(stream_field(zeros, group, groups, row, bits));
      }
    }
    simplify_zeros(weight);
  }
  if (parts.has("weight_g_idx")) {
    const RawTensor& g_idx = parts.get("weight_g_idx", kIntegers, 1);
    if (g_idx.elements() > 0 && g_idx.integer(0) >= 0) apply_order(weight, g_idx);
  }
  return weight;
}

CodedWeight import_scaled_bytes(const Parts& parts) {
  constexpr std::string_view kTypes[] = {"I8", "F8_E4M3", "F8_E5M2"};
  const RawTensor& bytes = parts.get("weight", kTypes, 2);
  CodedWeight weight;
  weight.n = bytes.shape[0];
  weight.k = bytes.shape[1];
  weight.format.bits = 8;
  const bool integers = bytes.type == "I8";
  if (!integers) weight.format.codes = bytes.type == "F8_E4M3" ? Codes::e4m3 : Codes::e5m2;
  take_scales(weight, parts.numbers("weight_scale"), {});
  weight.format.check();
  weight.codes.resize(static_cast<std::size_t>(bytes.elements()));
  for (std::int64_t i = 0; i < bytes.elements(); ++i) {
    // A signed integer's code is 128 more.
    weight.codes[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(bytes.bits(i) ^ (integers ? 0x80U : 0U));
  }
  return weight;
}

CodedWeight import_square_blocks(const Parts& parts) {
  const RawTensor& bytes = parts.get("weight", "F8_E4M3", 2);
  const RawTensor& scales = parts.numbers("weight_scale_inv", 2);
  CodedWeight weight;
  weight.n = bytes.shape[0];
  weight.k = bytes.shape[1];
  weight.format = {.codes = Codes::e4m3,
                   .bits = 8,
                   .grouping = Grouping::block,
                   .group = 128,
                   .scale = scale_type_of(scales)};
  require_shape(scales, {ceil_div(weight.n, 128), ceil_div(weight.k, 128)});
  weight.scales = scale_bits_of(scales);
  for (std::int64_t i = 0; i < bytes.elements(); ++i) {
    weight.codes.push_back(static_cast<std::uint8_t>(bytes.bits(i)));
  }
  return weight;
}

}  // namespace gemwright::formats
