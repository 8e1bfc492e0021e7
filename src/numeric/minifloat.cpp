#include "numeric/minifloat.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gemwright::numeric {
namespace {

// Of a sign, exponent and mantissa that are finite.
float finite(bool negative, int exponent, int mantissa, int mantissa_bits, int bias) {
  const int hidden = exponent > 0 ? 1 << mantissa_bits : 0;
  const int power = (exponent > 0 ? exponent : 1) - bias - mantissa_bits;
  const float magnitude = std::ldexp(static_cast<float>(hidden + mantissa), power);
  return negative ? -magnitude : magnitude;
}

// Bits of a magnitude up to `largest`, without the sign: the multiple of the spacing at its
// exponent, to nearest even. A carry into the next exponent gives that exponent's first number.
int magnitude_bits(float magnitude, int mantissa_bits, int bias) {
  const int least = 1 - bias;
  const int exponent = magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
  const float steps = std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent));
  const int biased = exponent - least;
  return (biased << mantissa_bits) + static_cast<int>(steps);
}

}  // namespace

float from_e4m3(std::uint8_t bits) {
  if ((bits & 0x7FU) == 0x7FU) return std::copysign(NAN, (bits & 0x80U) != 0 ? -1.0F : 1.0F);
  return finite((bits & 0x80U) != 0, (bits >> 3) & 0xF, bits & 7, 3, 7);
}

std::uint8_t to_e4m3(float value) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80U : 0U);
  if (std::isnan(value)) return sign | 0x7FU;
  const float magnitude = std::fabs(value);
  if (magnitude >= 448) return sign | 0x7EU;
  return static_cast<std::uint8_t>(sign | magnitude_bits(magnitude, 3, 7));
}

float from_e5m2(std::uint8_t bits) {
  const int exponent = (bits >> 2) & 0x1F;
  const bool negative = (bits & 0x80U) != 0;
  if (exponent < 0x1F) return finite(negative, exponent, bits & 3, 2, 15);
  return std::copysign((bits & 3) == 0 ? INFINITY : NAN, negative ? -1.0F : 1.0F);
}

std::uint8_t to_e5m2(float value) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80U : 0U);
  if (std::isnan(value)) return sign | 0x7EU;
  if (std::isinf(value)) return sign | 0x7CU;
  const float magnitude = std::fabs(value);
  if (magnitude >= 57344) return sign | 0x7BU;
  return static_cast<std::uint8_t>(sign | magnitude_bits(magnitude, 2, 15));
}

float from_e2m1(std::uint8_t code) {
  return finite((code & 8U) != 0, (code >> 1) & 3, code & 1, 1, 1);
}

std::uint8_t to_e2m1(float value) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 8U : 0U);
  const float magnitude = std::fabs(value);
  if (!(magnitude < 6)) return sign | 7U;
  return static_cast<std::uint8_t>(sign | magnitude_bits(magnitude, 1, 1));
}

float from_e8m0(std::uint8_t bits) {
  if (bits == 255) return NAN;
  if (bits == 0) return 0x1p-127F;
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 23);
}

}  // namespace gemwright::numeric
