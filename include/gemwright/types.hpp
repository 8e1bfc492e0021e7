// Element types of GEMM operands.
#pragma once

#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)

namespace gemwright {

/// Type of the elements of an operand in memory. Accumulation is always fp32 or wider.
enum class DataType : std::uint8_t { f32, f16, bf16 };

/// Bytes of one element.
constexpr int size_bytes(DataType type) {
  return type == DataType::f32 ? 4 : 2;
}

/// "f32", "f16" or "bf16".
std::string_view name(DataType type);

/// Inverse of name(); also takes PyTorch's spellings ("float32", "half", "torch.bfloat16", ...).
/// Throws InvalidArgument for anything else.
DataType parse_data_type(std::string_view text);

/// What A's rows are rounded to before the product (Problem::activations says how, to the bit).
enum class Activations : std::uint8_t {
  as_given,  // nothing: A as it stands in memory
  e4m3,      // 8-bit floats of the OCP (largest 448), with a scale for each row
  int8,      // integers from -127 to 127, with a scale for each row
};

/// "as_given", "e4m3" or "int8".
std::string_view name(Activations activations);

/// Inverse of name(). Throws InvalidArgument for anything else.
Activations parse_activations(std::string_view text);

}  // namespace gemwright

#pragma GCC visibility pop
