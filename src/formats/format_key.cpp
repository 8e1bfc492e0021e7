// "CODES:GROUP:SCALE[*f32][:order]", and the names of presets.
#include <gemwright/errors.hpp>
#include <gemwright/weight_format.hpp>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace gemwright {
namespace {

constexpr std::array<std::pair<std::string_view, ScaleType>, 5> kScales{{
    {"f32", ScaleType::f32},
    {"f16", ScaleType::f16},
    {"bf16", ScaleType::bf16},
    {"e8m0", ScaleType::e8m0},
    {"e4m3", ScaleType::e4m3},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kPresets{{
    {"nf4", "nf4:g64:bf16"},           {"nf3", "nf3:g64:bf16"},
    {"nf2", "nf2:g64:bf16"},           {"fp4", "fp4:g64:bf16"},
    {"bnb-nf4", "nf4:flat64:f32"},     {"bnb-fp4", "fp4:flat64:f32"},
    {"int8", "int8:row:f32"},          {"int4", "int4:g128:bf16"},
    {"int3", "int3:g128:bf16"},        {"int2", "int2:g64:bf16"},
    {"int8z", "int8z:row:f32"},        {"int4z", "int4z:g128:bf16"},
    {"int3z", "int3z:g128:bf16"},      {"int2z", "int2z:g64:bf16"},
    {"mxfp4", "e2m1:g32:e8m0"},        {"mxfp8", "e4m3:g32:e8m0"},
    {"nvfp4", "e2m1:g16:e4m3*f32"},    {"fp8", "e4m3:row:f32"},
    {"fp8-block", "e4m3:128x128:f32"}, {"lut4", "lut4:g64:bf16"},
    {"lut3", "lut3:g64:bf16"},         {"lut2", "lut2:g64:bf16"},
}};

// Codes whose name is followed by the number of bits, the longest first.
constexpr std::array<std::pair<std::string_view, Codes>, 4> kFamilies{{
    {"rowlut", Codes::learned_per_row},
    {"lut", Codes::learned},
    {"int", Codes::integer},
    {"nf", Codes::normal_float},
}};

constexpr std::array<std::pair<std::string_view, Codes>, 4> kFixed{{
    {"fp4", Codes::fp4},
    {"e2m1", Codes::e2m1},
    {"e4m3", Codes::e4m3},
    {"e5m2", Codes::e5m2},
}};

std::string codes_text(const WeightFormat& format) {
  for (const auto& [text, codes] : kFixed) {
    if (codes == format.codes) return std::string(text);
  }
  constexpr std::array<std::string_view, 3> kZeros{"", "z", "r"};
  for (const auto& [text, codes] : kFamilies) {
    if (codes != format.codes) continue;
    return fmt::format("{}{}{}", text, format.bits,
                       kZeros.at(static_cast<std::size_t>(format.zero)));
  }
  return {};
}

std::string group_text(const WeightFormat& format) {
  switch (format.grouping) {
    case Grouping::along_k:
      return fmt::format("g{}", format.group);
    case Grouping::row:
      return "row";
    case Grouping::tensor:
      return "tensor";
    case Grouping::flat:
      return fmt::format("flat{}", format.group);
    case Grouping::block:
      return fmt::format("{0}x{0}", format.group);
  }
  return {};
}

std::string_view scale_text(ScaleType scale) {
  for (const auto& [text, type] : kScales) {
    if (type == scale) return text;
  }
  return {};
}

std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return head;
}

[[noreturn]] void refuse(const char* field, std::string_view given, const std::string& allowed) {
  throw InvalidArgument(std::string("format.") + field, "\"" + std::string(given) + "\"", allowed);
}

// The number at the front of the text, which is cut off.
std::optional<std::int32_t> take_number(std::string_view& text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// One word is meant as a preset: which part of a key it is would be a guess.
[[noreturn]] void refuse_word(std::string_view word) {
  std::string allowed;
  for (const auto& [name, preset] : kPresets) allowed += std::string(name) + ", ";
  allowed.resize(allowed.size() - 2);
  throw InvalidArgument("format", word.empty() ? "nothing" : std::string(word),
                        allowed + " or CODES:GROUP:SCALE");
}

void parse_codes(WeightFormat& format, std::string_view text) {
  for (const auto& [name, codes] : kFixed) {
    if (text != name) continue;
    format.codes = codes;
    format.bits = codes == Codes::e4m3 || codes == Codes::e5m2 ? 8 : 4;
    return;
  }
  for (const auto& [name, codes] : kFamilies) {
    if (!text.starts_with(name)) continue;
    std::string_view rest = text.substr(name.size());
    const auto bits = take_number(rest);
    if (!bits || !(rest.empty() || rest == "z" || rest == "r")) break;
    format.codes = codes;
    format.bits = *bits;
    format.zero = rest.empty() ? Zero::symmetric : rest == "z" ? Zero::integer : Zero::real;
    return;
  }
  refuse("codes", text,
         "int2, int3, int4 or int8 (with z or r behind for integer or real zero points), nf2, nf3, "
         "nf4, fp4, e2m1, e4m3, e5m2, lut2 ... lut8 or rowlut2 ... rowlut8");
}

void parse_group(WeightFormat& format, std::string_view text) {
  format.group = 0;
  if (text == "row" || text == "tensor") {
    format.grouping = text == "row" ? Grouping::row : Grouping::tensor;
    return;
  }
  std::string_view rest = text;
  if (rest.starts_with("flat")) {
    format.grouping = Grouping::flat;
    rest.remove_prefix(4);
  } else if (rest.starts_with("g")) {
    format.grouping = Grouping::along_k;
    rest.remove_prefix(1);
  } else {
    format.grouping = Grouping::block;
  }
  const auto group = take_number(rest);
  const std::string tail =
      format.grouping == Grouping::block && group ? "x" + std::to_string(*group) : std::string();
  if (!group || rest != tail) {
    refuse("group", text, "g16 to g256, row, tensor, flat64 and the like, or 128x128");
  }
  format.group = *group;
}

void parse_scale(WeightFormat& format, std::string_view text) {
  const std::string_view type = take(text, '*');
  for (const auto& [name, scale] : kScales) {
    if (name != type || !(text.empty() || text == "f32")) continue;
    format.scale = scale;
    format.global_scale = !text.empty();
    return;
  }
  refuse("scale", type, "f32, f16, bf16, e8m0 or e4m3, with *f32 behind for a global scale");
}

}  // namespace

std::string key(const WeightFormat& format) {
  return fmt::format("{}:{}:{}{}{}", codes_text(format), group_text(format),
                     scale_text(format.scale), format.global_scale ? "*f32" : "",
                     format.ordered ? ":order" : "");
}

WeightFormat parse_weight_format(std::string_view text) {
  for (const auto& [name, preset] : kPresets) {
    if (text == name) return parse_weight_format(preset);
  }
  if (text.find(':') == std::string_view::npos) refuse_word(text);
  const std::string_view whole = text;
  WeightFormat format;
  parse_codes(format, take(text, ':'));
  parse_group(format, take(text, ':'));
  parse_scale(format, take(text, ':'));
  format.ordered = text == "order";
  if (!text.empty() && !format.ordered) refuse("order", text, "order, or nothing");
  if (whole.ends_with(':')) refuse("order", "", "order, or nothing");
  format.check();
  return format;
}

}  // namespace gemwright
