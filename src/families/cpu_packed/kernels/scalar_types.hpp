// Conversions of single elements, exact and rounded to nearest even, for any processor.
#pragma once

#include <cstdint>

namespace gemwright::cpu_packed {

// Everything here is static so that files compiled for different instruction sets never share it.

[[gnu::always_inline]] static inline float float_of_bits(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
[[gnu::always_inline]] static inline std::uint32_t bits_of_float(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

[[gnu::always_inline]] static inline float bf16_to_f32(std::uint16_t bits) {
  return float_of_bits(static_cast<std::uint32_t>(bits) << 16);
}

[[maybe_unused]] static inline std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = bits_of_float(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // stay a NaN
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

[[maybe_unused]] static inline float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t rest = half & 0x7FFFU;
  if (rest >= 0x7C00U) return float_of_bits(sign | 0x7F800000U | ((rest & 0x3FFU) << 13));
  // Scaling by 2^112 moves the exponent's bias, and makes subnormals normal.
  const float magnitude = float_of_bits(rest << 13) * 0x1p112F;
  return float_of_bits(sign | bits_of_float(magnitude));
}

[[maybe_unused]] static inline std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = bits_of_float(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t rest = bits & 0x7FFFFFFFU;
  if (rest > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (rest >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // >= 65520: Inf
  if (rest < 0x38800000U) {  // below 2^-14: adding 0.5 leaves the subnormal in the low bits
    const float shifted = float_of_bits(rest) + 0.5F;
    return static_cast<std::uint16_t>(sign | (bits_of_float(shifted) - 0x3F000000U));
  }
  const std::uint32_t rounded = rest + 0xFFFU + ((rest >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

}  // namespace gemwright::cpu_packed
