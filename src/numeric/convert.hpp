// Conversions between the element types and float or double, on the host.
#pragma once

#include <gemwright/types.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

namespace gemwright::numeric {

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Round to nearest even; NaN stays a quiet NaN.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

float from_f16(std::uint16_t bits);

/// Round to nearest even; beyond 65504 to infinity; NaN stays a quiet NaN.
std::uint16_t to_f16(float value);

/// Double to float by round-to-odd, so that rounding the result again to 11 bits or fewer is the
/// correct rounding of the double.
float to_float_odd(double value);

/// Element `index` of an array of that type.
double load(DataType type, const void* data, std::int64_t index);

/// Rounds once, to nearest even, to the type.
void store(DataType type, void* data, std::int64_t index, double value);

}  // namespace gemwright::numeric
