#include "files/parse_json.hpp"
#include "formats/codebooks.hpp"
#include "formats/groups.hpp"
#include "formats/import/import.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <bit>
#include <optional>

namespace gemwright::formats {
namespace {

using nlohmann::json;

constexpr std::string_view kBytes = "U8";

struct State {
  Codes codes = Codes::normal_float;
  std::int64_t block = 64;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t nested_block = 256;
  float nested_offset = 0;
};

std::int64_t integer_of(const json& state, const char* field, const std::string& place) {
  const auto found = state.find(field);
  if (found == state.end() || !found->is_number_integer()) {
    throw InvalidArgument(place + "." + field, "no integer", "one");
  }
  return found->get<std::int64_t>();
}

State state_of(const Parts& parts, const std::string& part, Codes codes) {
  const RawTensor& tensor = parts.get(part, kBytes, 1);
  const std::string_view text(reinterpret_cast<const char*>(tensor.data.data()),
                              tensor.data.size());
  const json parsed = files::parse_json<json>(text, tensor.name, "a JSON object");
  if (!parsed.is_object()) throw InvalidArgument(tensor.name, parsed.type_name(), "an object");
  State state;
  state.codes = codes;
  state.block = integer_of(parsed, "blocksize", tensor.name);
  const auto shape = parsed.find("shape");
  if (shape == parsed.end() || !shape->is_array() || shape->size() != 2 ||
      !(*shape)[0].is_number_integer() || !(*shape)[1].is_number_integer()) {
    throw InvalidArgument(tensor.name + ".shape", "no two integers", "N and K");
  }
  state.n = (*shape)[0].get<std::int64_t>();
  state.k = (*shape)[1].get<std::int64_t>();
  if (const auto offset = parsed.find("nested_offset"); offset != parsed.end()) {
    if (!offset->is_number()) throw InvalidArgument(tensor.name, "no number nested_offset", "one");
    state.nested_offset = static_cast<float>(offset->get<double>());
    state.nested_block = integer_of(parsed, "nested_blocksize", tensor.name);
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const bool sizes = state.n >= 0 && state.k >= 0 && state.n <= kMost && state.k <= kMost;
  if (!sizes || state.nested_block < 1) {
    throw InvalidArgument(tensor.name, "absurd sizes", "sizes from 0 to 2^31");
  }
  return state;
}

State state_of(const Parts& parts) {
  const std::string prefix = "weight.quant_state.bitsandbytes__";
  if (parts.has(prefix + "nf4")) return state_of(parts, prefix + "nf4", Codes::normal_float);
  return state_of(parts, prefix + "fp4", Codes::fp4);
}

// The scales of double quantisation, as bitsandbytes computes them: two roundings to fp32.
std::vector<std::uint32_t> nested_scales(const Parts& parts, const RawTensor& absmax,
                                         const State& state) {
  const RawTensor& second = parts.get("weight.nested_absmax", "F32", 1);
  const RawTensor& map = parts.get("weight.nested_quant_map", "F32", 1);
  require_shape(map, {256});
  require_shape(second, {ceil_div(absmax.elements(), state.nested_block)});
  std::vector<std::uint32_t> scales;
  for (std::int64_t i = 0; i < absmax.elements(); ++i) {
    const double product =
        static_cast<double>(map.number(static_cast<std::int64_t>(absmax.bits(i)))) *
        static_cast<double>(second.number(i / state.nested_block));
    const float scale = static_cast<float>(product) + state.nested_offset;
    scales.push_back(std::bit_cast<std::uint32_t>(scale));
  }
  return scales;
}

}  // namespace

CodedWeight import_bitsandbytes(const Parts& parts) {
  const State state = state_of(parts);
  CodedWeight weight;
  weight.n = state.n;
  weight.k = state.k;
  weight.format = {.codes = state.codes,
                   .bits = 4,
                   .grouping = Grouping::flat,
                   .group = static_cast<std::int32_t>(std::min<std::int64_t>(state.block, 1 << 20)),
                   .scale = ScaleType::f32};
  weight.format.check();

  const RawTensor& map = parts.get("weight.quant_map", "F32", 1);
  require_shape(map, {16});
  const auto fixed = fixed_codebook(weight.format);
  std::vector<float> table;
  for (std::int64_t i = 0; i < 16; ++i) table.push_back(map.number(i));
  if (!std::equal(table.begin(), table.end(), fixed.begin())) {
    weight.format.codes = Codes::learned;
    weight.table = table;
  }

  const RawTensor& packed = parts.get("weight", kBytes);
  const std::int64_t elements = weight.n * weight.k;
  if (packed.elements() != ceil_div(elements, 2)) {
    throw InvalidArgument(packed.name, std::to_string(packed.elements()) + " bytes",
                          std::to_string(ceil_div(elements, 2)) + ", as its state says");
  }
  weight.codes.resize(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint32_t byte = packed.bits(i / 2);
    weight.codes[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(i % 2 == 0 ? byte >> 4 : byte & 15U);
  }

  constexpr std::string_view kTypes[] = {"F32", "U8"};
  const RawTensor& absmax = parts.get("weight.absmax", kTypes, 1);
  require_shape(absmax, {Groups{weight.format, weight.n, weight.k}.count()});
  weight.scales = absmax.type == "U8" ? nested_scales(parts, absmax, state) : scale_bits_of(absmax);
  return weight;
}

}  // namespace gemwright::formats
