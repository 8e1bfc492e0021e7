#include "numeric/convert.hpp"

namespace gemwright::numeric {

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00U) {  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13));
  }
  if (magnitude >= 0x0400U) {
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
  }
  const float value = static_cast<float>(magnitude) * 0x1p-24F;  // denormal: exact in fp32
  return sign != 0 ? -value : value;
}

std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x1FFU));
  }
  if (magnitude >= 0x47800000U) return sign | 0x7C00U;  // 65536 and above
  if (magnitude >= 0x38800000U) {                       // normal in fp16
    const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
  }
  // Denormal: the sum with 0.5 leaves the rounded multiple of 2^-24 in the low mantissa bits.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
  return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
}

float to_float_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value) || std::isinf(value)) {
    return nearest;
  }
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  // Back to the neighbour toward zero, then make it odd.
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

double load(DataType type, const void* data, std::int64_t index) {
  switch (type) {
    case DataType::f32:
      return static_cast<const float*>(data)[index];
    case DataType::f16:
      return from_f16(static_cast<const std::uint16_t*>(data)[index]);
    case DataType::bf16:
      return from_bf16(static_cast<const std::uint16_t*>(data)[index]);
  }
  return 0;
}

void store(DataType type, void* data, std::int64_t index, double value) {
  switch (type) {
    case DataType::f32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      break;
    case DataType::f16:
      static_cast<std::uint16_t*>(data)[index] = to_f16(to_float_odd(value));
      break;
    case DataType::bf16:
      static_cast<std::uint16_t*>(data)[index] = to_bf16(to_float_odd(value));
      break;
  }
}

}  // namespace gemwright::numeric
