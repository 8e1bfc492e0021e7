#include "model/lanes.hpp"

#include <cmath>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace gemwright::model {
namespace {

TEST(Lanes, DivideWholeNumbersExactly) {
  std::mt19937_64 random(1);
  const auto check = [](std::int64_t n, std::int64_t d) {
    const Lanes reciprocal = both(1 / static_cast<double>(d));
    const Lanes whole = both(static_cast<double>(n));
    EXPECT_EQ(ceil_div(whole, reciprocal)[0], static_cast<double>((n + d - 1) / d))
        << n << " / " << d;
    EXPECT_EQ(floor_div(whole, reciprocal)[1], static_cast<double>(n / d)) << n << " / " << d;
  };
  for (std::int64_t d = 1; d <= 300; ++d) {
    for (std::int64_t n = 0; n <= 3 * d + 1; ++n) check(n, d);
    const auto multiple = static_cast<std::int64_t>(random() % (1U << 31)) * d;
    for (const std::int64_t n : {multiple, multiple + 1, multiple + d - 1}) check(n, d);
  }
}

TEST(Lanes, AddCubes) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-15, 3);
  for (int i = 0; i < 1000; ++i) {
    const double a = std::pow(10, exponent(random));
    const double b = i % 3 == 0 ? a * (1 + 1e-3 * i) : std::pow(10, exponent(random));
    const double sum = std::cbrt(a * a * a + b * b * b);
    const Lanes result = cubic_sum(Lanes{a, b}, Lanes{b, 0});
    EXPECT_NEAR(result[0] / sum, 1, 4e-15) << a << " " << b;
    EXPECT_NEAR(result[1] / b, 1, 4e-15) << b;
  }
  EXPECT_LT(cubic_sum(both(0), both(0))[0], 1e-200);
}

}  // namespace
}  // namespace gemwright::model
