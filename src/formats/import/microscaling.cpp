// 4-bit floats with a scale for 32 (MXFP4) or 16 (NVFP4) neighbours.
#include "formats/import/import.hpp"
#include <gemwright/errors.hpp>

#include <string_view>

namespace gemwright::formats {
namespace {

// Two codes a byte, the lower half first.
std::vector<std::uint8_t> unpacked(const RawTensor& bytes, std::int64_t first, std::int64_t count) {
  std::vector<std::uint8_t> codes;
  codes.reserve(static_cast<std::size_t>(2 * count));
  for (std::int64_t i = first; i < first + count; ++i) {
    codes.push_back(static_cast<std::uint8_t>(bytes.bits(i) & 15U));
    codes.push_back(static_cast<std::uint8_t>(bytes.bits(i) >> 4));
  }
  return codes;
}

}  // namespace

CodedWeight import_mxfp4(const Parts& parts) {
  constexpr std::string_view kScales[] = {"U8", "F8_E8M0"};
  const RawTensor& blocks = parts.get("blocks", "U8", 3);
  const RawTensor& scales = parts.get("scales", kScales, 2);
  CodedWeight weight;
  weight.format = parse_weight_format("mxfp4");
  weight.n = blocks.shape[0];
  weight.k = blocks.shape[1] * 32;
  require_shape(blocks, {weight.n, blocks.shape[1], 16});
  require_shape(scales, {weight.n, blocks.shape[1]});
  weight.codes = unpacked(blocks, 0, blocks.elements());
  weight.scales = scale_bits_of(scales);
  return weight;
}

CodedWeight import_nvfp4(const Parts& parts) {
  const bool divides = parts.has("weight_packed");
  const RawTensor& bytes = parts.get(divides ? "weight_packed" : "weight", "U8", 2);
  const RawTensor& scales = parts.get("weight_scale", "F8_E4M3", 2);
  const RawTensor& global = parts.get(divides ? "weight_global_scale" : "weight_scale_2", "F32");
  if (global.elements() != 1) {
    throw InvalidArgument(global.name, std::to_string(global.elements()) + " elements", "one");
  }
  CodedWeight weight;
  weight.format = parse_weight_format("nvfp4");
  weight.n = bytes.shape[0];
  weight.k = bytes.shape[1] * 2;
  require_shape(scales, {weight.n, (weight.k + 15) / 16});
  weight.codes = unpacked(bytes, 0, bytes.elements());
  weight.scales = scale_bits_of(scales);
  weight.global_scale = divides ? 1 / global.number(0) : global.number(0);
  return weight;
}

}  // namespace gemwright::formats
