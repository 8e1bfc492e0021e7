#include <gemwright/errors.hpp>
#include <gemwright/types.hpp>

#include <array>
#include <string>
#include <utility>

namespace gemwright {

std::string_view name(DataType type) {
  switch (type) {
    case DataType::f32:
      return "f32";
    case DataType::f16:
      return "f16";
    case DataType::bf16:
      return "bf16";
  }
  return "?";
}

DataType parse_data_type(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, DataType>, 11> kSpellings{{
      {"f32", DataType::f32},
      {"fp32", DataType::f32},
      {"float32", DataType::f32},
      {"float", DataType::f32},
      {"f16", DataType::f16},
      {"fp16", DataType::f16},
      {"float16", DataType::f16},
      {"half", DataType::f16},
      {"bf16", DataType::bf16},
      {"bfloat16", DataType::bf16},
      {"bfloat", DataType::bf16},
  }};
  std::string_view bare = text;
  if (bare.starts_with("torch.")) bare.remove_prefix(6);
  for (const auto& [spelling, type] : kSpellings) {
    if (bare == spelling) return type;
  }
  throw InvalidArgument("type", "\"" + std::string(text) + "\"",
                        "f32, f16, bf16 (or float32, float16, half, bfloat16)");
}

std::string_view name(Activations activations) {
  switch (activations) {
    case Activations::as_given:
      return "as_given";
    case Activations::e4m3:
      return "e4m3";
    case Activations::int8:
      return "int8";
  }
  return "?";
}

Activations parse_activations(std::string_view text) {
  for (const auto one : {Activations::as_given, Activations::e4m3, Activations::int8}) {
    if (text == name(one)) return one;
  }
  throw InvalidArgument("activations", "\"" + std::string(text) + "\"", "as_given, e4m3 or int8");
}

}  // namespace gemwright
