#include "numeric/activations.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gemwright::numeric {
namespace {

constexpr std::uint32_t kMagnitude = 0x7FFFFFFFU;

// To a multiple of 2^(exponent - 3) where the exponent is at least -6, else of 2^-9: adding and
// taking away 1.5 * 2^23 such steps rounds to nearest even.
float nearest_e4m3(float value) {
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(value) & 0x7F800000U;
  const float power = std::max(std::bit_cast<float>(exponent), 0x1p-6F);
  const float steps = power * 0x1.8p20F;
  return value + steps - steps;
}

float nearest_integer(float value) {
  constexpr float kSteps = 0x1.8p23F;
  return value + kSteps - kSteps;
}

// Rounds a row of a finite scale above 0.
template <typename Nearest>
void to_codes(std::span<float> row, float scale, float largest, const Nearest& nearest) {
  for (float& value : row) value = nearest(std::clamp(value / scale, -largest, largest));
}

void round_codes(Activations activations, std::span<float> row, float scale) {
  if (!(scale > 0)) {
    std::fill(row.begin(), row.end(), 0.0F);
  } else if (activations == Activations::e4m3) {
    to_codes(row, scale, largest_code(activations), nearest_e4m3);
  } else {
    to_codes(row, scale, largest_code(activations), nearest_integer);
  }
}

// Magnitudes are ordered as their bits are, infinities and NaN above all.
float largest_magnitude(std::span<const float> row) {
  std::uint32_t largest = 0;
  for (const float value : row) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & kMagnitude);
  }
  return std::bit_cast<float>(largest);
}

}  // namespace

float largest_code(Activations activations) {
  return activations == Activations::e4m3 ? 448.0F : 127.0F;
}

float round_activations(Activations activations, std::span<float> row) {
  if (activations == Activations::as_given) return 1.0F;
  const float largest = largest_magnitude(row);
  const float scale = std::isfinite(largest) ? largest / largest_code(activations)
                                             : std::numeric_limits<float>::quiet_NaN();
  round_codes(activations, row, scale);
  return scale;
}

}  // namespace gemwright::numeric
