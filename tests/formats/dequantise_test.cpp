#include "formats/random_weight.hpp"
#include "formats/row_decoder.hpp"
#include "numeric/convert.hpp"
#include "numeric/minifloat.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

std::vector<float> values_of(const CodedWeight& weight) {
  std::vector<float> values(static_cast<std::size_t>(weight.n * weight.k));
  dequantise(weight, DataType::f32, values.data());
  return values;
}

// Each format once more, in its own words.
TEST(Dequantise, IntegersWithZeroPoints) {
  const CodedWeight w = random_coded("int4z:g32:f16", 5, 100);
  const auto values = values_of(w);
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t column = 0; column < 100; ++column) {
      const std::size_t group = row * 4 + column / 32;
      const int code = w.codes[row * 100 + column];
      const float scale = numeric::from_f16(static_cast<std::uint16_t>(w.scales[group]));
      EXPECT_EQ(values[row * 100 + column],
                static_cast<float>(code - static_cast<int>(w.zeros[group])) * scale);
    }
  }
}

TEST(Dequantise, SymmetricIntegersAreAboutTheMiddle) {
  const CodedWeight w = random_coded("int8:row:f32", 3, 10);
  const auto values = values_of(w);
  for (std::size_t at = 0; at < 30; ++at) {
    EXPECT_EQ(values[at],
              static_cast<float>(w.codes[at] - 128) * std::bit_cast<float>(w.scales[at / 10]));
  }
}

TEST(Dequantise, FlatBlocksRunAcrossRows) {
  const CodedWeight w = random_coded("fp4:flat64:f32", 7, 50);
  const float fp4[8] = {0, 0.005208333333F, 0.66666667F, 1, 0.33333333F, 0.5F, 0.16666667F, 0.25F};
  const auto values = values_of(w);
  for (std::size_t at = 0; at < 350; ++at) {
    const float entry = fp4[w.codes[at] % 8] * (w.codes[at] < 8 ? 1.0F : -1.0F);
    EXPECT_EQ(values[at], entry * std::bit_cast<float>(w.scales[at / 64])) << at;
  }
}

TEST(Dequantise, SquareBlocks) {
  const CodedWeight w = random_coded("e4m3:128x128:f32", 200, 300);
  const auto values = values_of(w);
  for (std::size_t row = 0; row < 200; ++row) {
    for (std::size_t column = 0; column < 300; ++column) {
      const float scale = std::bit_cast<float>(w.scales[row / 128 * 3 + column / 128]);
      const float value = numeric::from_e4m3(w.codes[row * 300 + column]) * scale;
      const float got = values[row * 300 + column];
      EXPECT_TRUE(got == value || (std::isnan(got) && std::isnan(value)));
    }
  }
}

TEST(Dequantise, TwoLevelsOfScales) {
  const CodedWeight w = random_coded("e2m1:g16:e4m3*f32", 4, 40);
  const auto values = values_of(w);
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 40; ++column) {
      const auto scale = static_cast<std::uint8_t>(w.scales[row * 3 + column / 16]);
      const double value = static_cast<double>(numeric::from_e2m1(w.codes[row * 40 + column])) *
                           static_cast<double>(numeric::from_e4m3(scale)) *
                           static_cast<double>(w.global_scale);
      EXPECT_EQ(values[row * 40 + column], static_cast<float>(value));
    }
  }
}

TEST(Dequantise, AnOrderMovesColumns) {
  CodedWeight w = random_coded("int4z:g32:f16:order", 4, 100);
  const auto moved = values_of(w);
  const auto order = w.order;
  w.order.clear();
  w.format.ordered = false;
  const auto plain = values_of(w);
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t j = 0; j < 100; ++j) {
      EXPECT_EQ(moved[row * 100 + static_cast<std::size_t>(order[j])], plain[row * 100 + j]);
    }
  }
}

TEST(Dequantise, RowsHaveTheirOwnCodebooks) {
  const CodedWeight w = random_coded("rowlut4:row:f16", 6, 20);
  const auto values = values_of(w);
  for (std::size_t at = 0; at < 120; ++at) {
    const float scale = numeric::from_f16(static_cast<std::uint16_t>(w.scales[at / 20]));
    EXPECT_EQ(values[at], w.table[at / 20 * 16 + w.codes[at]] * scale);
  }
}

TEST(Dequantise, EntriesAreRoundedOnlyWhereAsked) {
  CodedWeight w = random_coded("nf4:g64:bf16", 1, 16);
  for (std::uint8_t code = 0; code < 16; ++code) w.codes[code] = code;
  w.scales[0] = 0x3F80;  // 1
  std::vector<double> exact(16);
  std::vector<double> rounded(16);
  formats::RowDecoder(w).decode(0, exact.data());
  formats::RowDecoder(w, DataType::bf16).decode(0, rounded.data());
  EXPECT_EQ(exact[1], -0.6961928009986877);
  EXPECT_EQ(rounded[1], -0.6953125);
  EXPECT_EQ(rounded[15], 1.0);
}

TEST(Dequantise, RoundsToTheTypeOnce) {
  const CodedWeight w = random_coded("nf4:g64:f32", 3, 70);
  std::vector<std::uint16_t> halves(210);
  dequantise(w, DataType::bf16, halves.data());
  std::vector<double> line(70);
  const formats::RowDecoder decoder(w);
  for (std::int64_t row = 0; row < 3; ++row) {
    decoder.decode(row, line.data());
    for (std::size_t column = 0; column < 70; ++column) {
      EXPECT_EQ(halves[static_cast<std::size_t>(row) * 70 + column],
                numeric::to_bf16(numeric::to_float_odd(line[column])));
    }
  }
}

TEST(Dequantise, ErrorsAreThoseOfTheDefinition) {
  const CodedWeight w = random_coded("int4:g32:f16", 3, 64);
  std::vector<float> other = values_of(w);
  EXPECT_EQ(error_of(w, DataType::f32, other.data()).relative, 0);
  double norm = 0;
  other[70] += 0.5F;
  for (const float value : other) norm += static_cast<double>(value) * static_cast<double>(value);
  const WeightError error = error_of(w, DataType::f32, other.data());
  EXPECT_DOUBLE_EQ(error.largest, 0.5);
  EXPECT_NEAR(error.relative, 0.5 / std::sqrt(norm), 1e-12);
  EXPECT_NEAR(error.snr_db, -20 * std::log10(0.5 / std::sqrt(norm)), 1e-9);
}

}  // namespace
}  // namespace gemwright
