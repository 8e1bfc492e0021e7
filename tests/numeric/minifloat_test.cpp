#include "numeric/minifloat.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace gemwright::numeric {
namespace {

// Every number between two neighbours goes to the nearer one, and from the middle to the even code.
template <typename From, typename To>
void expect_nearest(const From& from, const To& to, int largest) {
  for (int code = 0; code < largest; ++code) {
    const float low = from(static_cast<std::uint8_t>(code));
    const float high = from(static_cast<std::uint8_t>(code + 1));
    ASSERT_LT(low, high) << code;
    EXPECT_EQ(to(low), code);
    const float middle = (low + high) / 2;
    EXPECT_EQ(to(std::nextafter(middle, low)), code);
    EXPECT_EQ(to(std::nextafter(middle, high)), code + 1);
    EXPECT_EQ(to(middle), code % 2 == 0 ? code : code + 1);
  }
  EXPECT_EQ(to(from(static_cast<std::uint8_t>(largest))), largest);
  EXPECT_EQ(to(std::numeric_limits<float>::max()), largest);
}

TEST(Minifloat, RoundsToNearestEvenAndSaturates) {
  expect_nearest(from_e4m3, to_e4m3, 0x7E);
  expect_nearest(from_e5m2, to_e5m2, 0x7B);
  expect_nearest(from_e2m1, to_e2m1, 7);
  EXPECT_EQ(to_e4m3(-1.0F), 0x80 | to_e4m3(1.0F));
  EXPECT_EQ(to_e5m2(-1.0F), 0x80 | to_e5m2(1.0F));
  EXPECT_EQ(to_e2m1(-6.5F), 0xF);
}

TEST(Minifloat, HasTheValuesOfTheSpecification) {
  EXPECT_EQ(from_e4m3(0x7E), 448.0F);
  EXPECT_EQ(from_e4m3(0x01), 0x1p-9F);
  EXPECT_EQ(from_e4m3(0x08), 0x1p-6F);
  EXPECT_EQ(from_e4m3(0xB8), -1.0F);
  EXPECT_TRUE(std::isnan(from_e4m3(0x7F)));
  EXPECT_EQ(from_e5m2(0x7B), 57344.0F);
  EXPECT_EQ(from_e5m2(0x01), 0x1p-16F);
  EXPECT_EQ(from_e5m2(0x7C), INFINITY);
  EXPECT_TRUE(std::isnan(from_e5m2(0xFE)));
  const float e2m1[8] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (std::uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(from_e2m1(code), e2m1[code]);
    EXPECT_EQ(from_e2m1(code | 8U), -e2m1[code]);
  }
  EXPECT_EQ(from_e8m0(127), 1.0F);
  EXPECT_EQ(from_e8m0(0), 0x1p-127F);
  EXPECT_EQ(from_e8m0(254), 0x1p127F);
  EXPECT_TRUE(std::isnan(from_e8m0(255)));
}

TEST(Minifloat, KeepsNaNAndInfinity) {
  EXPECT_EQ(to_e4m3(NAN) & 0x7F, 0x7F);
  EXPECT_TRUE(std::isnan(from_e5m2(to_e5m2(NAN))));
  EXPECT_EQ(to_e5m2(-INFINITY), 0xFC);
  EXPECT_EQ(to_e4m3(INFINITY), 0x7E);  // there is no infinity
}

}  // namespace
}  // namespace gemwright::numeric
