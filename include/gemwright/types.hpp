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

}  // namespace gemwright

#pragma GCC visibility pop
