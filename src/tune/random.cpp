#include "tune/random.hpp"

#include "numeric/convert.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gemwright::tune {
namespace {

// The finaliser of splitmix64: every bit of the result depends on every bit of the counter.
std::uint64_t hash(std::uint64_t counter) {
  std::uint64_t x = counter * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// In -4 to 4 with a standard deviation of 1.155, in steps of 2^-15: exact in fp32.
double near_normal(std::uint64_t counter) {
  const std::uint64_t bits = hash(counter);
  std::int64_t sum = -2 * 65535;
  for (int field = 0; field < 4; ++field) {
    sum += static_cast<std::int64_t>((bits >> (16 * field)) & 0xFFFFU);
  }
  return static_cast<double>(sum) * 0x1p-15;
}

}  // namespace

double input_scale(const Problem& problem, Input input) {
  if (input != Input::b || problem.k <= 1) return 1;
  return std::exp2(-std::round(std::log2(static_cast<double>(problem.k)) / 2));
}

std::vector<std::byte> random_period(DataType type, Input input, double scale,
                                     std::int64_t elements) {
  const std::int64_t count = std::min(elements, kRandomPeriod);
  std::vector<std::byte> period(static_cast<std::size_t>(count * size_bytes(type)));
  const std::uint64_t first = (static_cast<std::uint64_t>(input) + 1) << 32;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = near_normal(first + static_cast<std::uint64_t>(i)) * scale;
    numeric::store(type, period.data(), i, value);
  }
  return period;
}

void fill_random(void* out, std::int64_t first, std::int64_t elements, DataType type,
                 const std::vector<std::byte>& period) {
  const std::int64_t size = size_bytes(type);
  auto* to = static_cast<std::byte*>(out);
  std::int64_t at = first % kRandomPeriod;
  while (elements > 0) {
    const std::int64_t count = std::min(elements, kRandomPeriod - at);
    std::memcpy(to, period.data() + at * size, static_cast<std::size_t>(count * size));
    to += count * size;
    elements -= count;
    at = 0;
  }
}

}  // namespace gemwright::tune
