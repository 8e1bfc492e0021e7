#include "numeric/activations.hpp"

#include "numeric/minifloat.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::numeric {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

// The definition, by the conversions that have tests of their own.
float code(Activations to, float value, float scale) {
  if (to == Activations::e4m3) return from_e4m3(to_e4m3(value / scale));
  return std::clamp(std::nearbyint(value / scale), -127.0F, 127.0F);
}

class RoundActivations : public testing::TestWithParam<Activations> {};

TEST_P(RoundActivations, GivesTheCodesAndTheScaleOfTheDefinition) {
  std::mt19937 random(7);
  for (const float size : {1.0F, 1e-30F, 3e37F, 1e-40F}) {
    std::vector<float> row(4096);
    for (float& value : row) {
      value = size * std::normal_distribution<float>()(random) *
              std::exp2(-std::uniform_real_distribution<float>(0, 12)(random));
    }
    float largest = 0;
    for (const float value : row) largest = std::max(largest, std::fabs(value));
    const float scale = largest / (GetParam() == Activations::e4m3 ? 448.0F : 127.0F);
    std::vector<float> codes = row;
    ASSERT_EQ(round_activations(GetParam(), codes), scale);
    for (std::size_t i = 0; i < row.size(); ++i) {
      ASSERT_EQ(codes[i], code(GetParam(), row[i], scale)) << row[i] << " / " << scale;
    }
  }
}

// With a scale of 1, every tie between two codes and its neighbours.
TEST_P(RoundActivations, RoundsTiesToEven) {
  const float largest = largest_code(GetParam());
  const float step = GetParam() == Activations::e4m3 ? 0x1p-10F : 0.5F;
  std::vector<float> row;
  for (float tie = 0; tie <= largest; tie += step) {
    for (const float value : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, 500.0F)}) {
      if (value <= largest) row.insert(row.end(), {value, -value});
    }
  }
  std::vector<float> codes = row;
  ASSERT_EQ(round_activations(GetParam(), codes), 1.0F);
  for (std::size_t i = 0; i < row.size(); ++i) {
    ASSERT_EQ(codes[i], code(GetParam(), row[i], 1.0F)) << row[i];
  }
}

TEST_P(RoundActivations, TakesRowsThatHaveNoScale) {
  std::vector<float> zeros = {0.0F, -0.0F, 0.0F};
  EXPECT_EQ(round_activations(GetParam(), zeros), 0.0F);
  EXPECT_EQ(zeros, std::vector<float>(3));
  // The scale of these rounds to 0, and that of the next to the least denormal: a / s is 500.
  std::vector<float> vanishing = {kLeast, -kLeast};
  EXPECT_EQ(round_activations(GetParam(), vanishing), 0.0F);
  EXPECT_EQ(vanishing, std::vector<float>(2));
  const float large = GetParam() == Activations::e4m3 ? 500.0F : 150.0F;
  std::vector<float> saturated = {kLeast * large, -kLeast * large, kLeast, 0};
  EXPECT_EQ(round_activations(GetParam(), saturated), kLeast);
  const float most = largest_code(GetParam());
  EXPECT_EQ(saturated, (std::vector<float>{most, -most, 1, 0}));
  for (const float bad : {kInfinity, -kInfinity, kNan, -kNan}) {
    std::vector<float> row = {1.0F, bad, 3.0F};
    EXPECT_TRUE(std::isnan(round_activations(GetParam(), row)));
    EXPECT_EQ(row, std::vector<float>(3));
  }
  EXPECT_EQ(round_activations(GetParam(), {}), 0.0F);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RoundActivations,
                         testing::Values(Activations::e4m3, Activations::int8),
                         [](const auto& kind) { return std::string(name(kind.param)); });

TEST(RoundActivationsAsGiven, LeavesARowAsItIs) {
  std::vector<float> row = {1.25F, -3e30F, kInfinity};
  const std::vector<float> before = row;
  EXPECT_EQ(round_activations(Activations::as_given, row), 1.0F);
  EXPECT_EQ(row, before);
}

}  // namespace
}  // namespace gemwright::numeric
