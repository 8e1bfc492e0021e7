#include "formats/codebooks.hpp"

#include "numeric/convert.hpp"
#include "numeric/minifloat.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gemwright::formats {
namespace {

// Quantiles of the normal distribution, scaled to 1: of 0 the two halves have 2^(bits-1) and
// 2^(bits-1) + 1 evenly spaced probabilities up to 1 - (1/32 + 1/30) / 2 (QLoRA, appendix E). NF4
// to the bit as bitsandbytes prints it.
constexpr std::array<float, 4> kNormal2{-1.0F, 0.0F, 0.3379151225090027F, 1.0F};
constexpr std::array<float, 8> kNormal3{-1.0F,
                                        -0.47862908244132996F,
                                        -0.2171417772769928F,
                                        0.0F,
                                        0.16093014180660248F,
                                        0.3379151225090027F,
                                        0.5626168847084045F,
                                        1.0F};
constexpr std::array<float, 16> kNormal4{-1.0F,
                                         -0.6961928009986877F,
                                         -0.5250730514526367F,
                                         -0.39491748809814453F,
                                         -0.28444138169288635F,
                                         -0.18477343022823334F,
                                         -0.09105003625154495F,
                                         0.0F,
                                         0.07958029955625534F,
                                         0.16093020141124725F,
                                         0.24611230194568634F,
                                         0.33791524171829224F,
                                         0.44070982933044434F,
                                         0.5626170039176941F,
                                         0.7229568362236023F,
                                         1.0F};

// Twelfths of 0, 1/16, 8, 12, 4, 6, 2, 3, as bitsandbytes prints them; then the same below zero.
constexpr std::array<float, 16> kFp4{
    0.0F,  0.005208333333F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -0.005208333333F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};

std::uint32_t e8m0_bits(double value) {
  if (std::isnan(value)) return 255;
  if (!(value > 0)) return 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [1/2, 1)
  const int power = fraction >= 0.75 ? exponent : exponent - 1;
  return static_cast<std::uint32_t>(std::clamp(power + 127, 0, 254));
}

}  // namespace

std::span<const float> fixed_codebook(const WeightFormat& format) {
  if (format.codes == Codes::fp4) return kFp4;
  if (format.codes != Codes::normal_float) return {};
  if (format.bits == 2) return kNormal2;
  if (format.bits == 3) return kNormal3;
  return kNormal4;
}

double code_value(const WeightFormat& format, std::uint8_t code) {
  switch (format.codes) {
    case Codes::e2m1:
      return static_cast<double>(numeric::from_e2m1(code));
    case Codes::e4m3:
      return static_cast<double>(numeric::from_e4m3(code));
    case Codes::e5m2:
      return static_cast<double>(numeric::from_e5m2(code));
    default:
      return format.zero == Zero::symmetric ? code - (1 << (format.bits - 1)) : code;
  }
}

std::vector<double> code_values(const WeightFormat& format) {
  if (has_codebook(format)) {
    const auto book = fixed_codebook(format);
    return {book.begin(), book.end()};
  }
  std::vector<double> values(std::size_t{1} << format.bits);
  for (std::size_t code = 0; code < values.size(); ++code) {
    values[code] = code_value(format, static_cast<std::uint8_t>(code));
  }
  return values;
}

double scale_value(ScaleType type, std::uint32_t bits) {
  switch (type) {
    case ScaleType::f32:
      return static_cast<double>(std::bit_cast<float>(bits));
    case ScaleType::f16:
      return static_cast<double>(numeric::from_f16(static_cast<std::uint16_t>(bits)));
    case ScaleType::bf16:
      return static_cast<double>(numeric::from_bf16(static_cast<std::uint16_t>(bits)));
    case ScaleType::e8m0:
      return static_cast<double>(numeric::from_e8m0(static_cast<std::uint8_t>(bits)));
    case ScaleType::e4m3:
      return static_cast<double>(numeric::from_e4m3(static_cast<std::uint8_t>(bits)));
  }
  return 0;
}

std::uint32_t scale_bits(ScaleType type, double value) {
  switch (type) {
    case ScaleType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case ScaleType::f16:
      return numeric::to_f16(numeric::to_float_odd(value));
    case ScaleType::bf16:
      return numeric::to_bf16(numeric::to_float_odd(value));
    case ScaleType::e8m0:
      return e8m0_bits(value);
    case ScaleType::e4m3:
      return numeric::to_e4m3(numeric::to_float_odd(value));
  }
  return 0;
}

}  // namespace gemwright::formats
