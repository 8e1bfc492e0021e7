#include "numeric/convert.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace gemwright::numeric {
namespace {

TEST(Convert, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_f16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_f16(to_f16(value))));
    } else {
      ASSERT_EQ(to_f16(value), half) << bits;
    }
  }
}

TEST(Convert, HalfRoundsToNearestEven) {
  EXPECT_EQ(to_f16(2049.0F), to_f16(2048.0F));
  EXPECT_EQ(to_f16(2051.0F), to_f16(2052.0F));
  EXPECT_EQ(to_f16(65519.0F), 0x7BFF);
  EXPECT_EQ(to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(to_f16(0x1p-25F), 0);
  EXPECT_EQ(to_f16(0x1.8p-25F), 1);
  EXPECT_EQ(to_f16(-0x1p-24F), 0x8001);
}

TEST(Convert, BfloatRoundsToNearestEvenAndKeepsNan) {
  EXPECT_EQ(to_bf16(1.0F), 0x3F80);
  EXPECT_EQ(to_bf16(257.0F), to_bf16(256.0F));
  EXPECT_EQ(to_bf16(259.0F), to_bf16(260.0F));
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7F800001U)))));
}

TEST(Convert, DoublesAreRoundedOnce) {
  // Halfway between two bf16 values plus a hair that fp32 cannot hold: rounding by way of fp32
  // would tie to even, downward.
  const double value = 1.0 + 0x1p-8 + 0x1p-40;
  std::uint16_t out = 0;
  store(DataType::bf16, &out, 0, value);
  EXPECT_EQ(from_bf16(out), 1.0F + 0x1p-7F);
  store(DataType::f16, &out, 0, 1.0 + 0x1p-11 + 0x1p-40);
  EXPECT_EQ(from_f16(out), 1.0F + 0x1p-10F);
}

TEST(Convert, LargeDoublesBecomeInfinity) {
  std::uint16_t out = 0;
  store(DataType::f16, &out, 0, 1e300);
  EXPECT_EQ(out, 0x7C00);
  store(DataType::bf16, &out, 0, -1e300);
  EXPECT_EQ(out, 0xFF80);
}

}  // namespace
}  // namespace gemwright::numeric
