#include "formats/codebooks.hpp"
#include "formats/quantise/quantiser.hpp"
#include "formats/random_weight.hpp"
#include "numeric/convert.hpp"
#include "numeric/minifloat.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

std::vector<float> normal(std::int64_t count, unsigned seed = 3) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, 0.02F);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = draw(random);
  return values;
}

CodedWeight coded(std::string_view format, std::int64_t n, std::int64_t k,
                  const std::vector<float>& w, const QuantiseOptions& options = {}) {
  return quantise(parse_weight_format(format), n, k, DataType::f32, w.data(), options);
}

double relative(std::string_view format, std::int64_t n, std::int64_t k,
                const std::vector<float>& w) {
  return error_of(coded(format, n, k, w), DataType::f32, w.data()).relative;
}

// No other code of the same scale and zero point is nearer, whatever the format.
TEST(Quantise, EveryCodeIsTheNearest) {
#if defined(GEMWRIGHT_SANITIZED)
  constexpr unsigned kStep = 5;
#else
  constexpr unsigned kStep = 1;
#endif
  constexpr std::int64_t kN = 130;
  constexpr std::int64_t kK = 200;
  const auto w = normal(kN * kK);
  for (const std::string_view format : kManyFormats) {
    if (parse_weight_format(format).ordered) continue;
    const CodedWeight weight = coded(format, kN, kK, w);
    EXPECT_NO_THROW(weight.check()) << format;
    std::vector<float> values(w.size());
    dequantise(weight, DataType::f32, values.data());
    for (unsigned code = 0; code < (1U << weight.format.bits); code += kStep) {
      CodedWeight other = weight;
      std::fill(other.codes.begin(), other.codes.end(), static_cast<std::uint8_t>(code));
      std::vector<float> others(w.size());
      dequantise(other, DataType::f32, others.data());
      for (std::size_t i = 0; i < w.size(); ++i) {
        if (std::isnan(others[i])) continue;
        ASSERT_LE(std::fabs(values[i] - w[i]), std::fabs(others[i] - w[i]) * 1.00001F)
            << format << " element " << i << " code " << code;
      }
    }
  }
}

TEST(Quantise, ErrorsAreOfTheFormatsSize) {
  const auto w = normal(256 * 1024);
  const auto error = [&](const char* format) { return relative(format, 256, 1024, w); };
  EXPECT_NEAR(error("nf4"), 0.093, 0.01);
  EXPECT_LT(error("lut4"), error("nf4"));
  EXPECT_LT(error("rowlut4:g64:bf16"), error("nf4"));
  EXPECT_LT(error("lut3"), error("nf3"));
  EXPECT_LT(error("nf3"), error("nf2"));
  EXPECT_LT(error("int8"), 0.01);
  EXPECT_LT(error("int4:g32:f16"), error("int4:g128:f16"));
  EXPECT_LT(error("int4z:g32:f16"), 0.1);
  EXPECT_LT(error("int4r:g32:f16"), error("int4z:g32:f16"));
  EXPECT_LT(error("nvfp4"), error("mxfp4"));
  EXPECT_LT(error("mxfp4"), 0.15);
  EXPECT_LT(error("mxfp8"), 0.03);
  EXPECT_LT(error("fp8"), 0.03);
  EXPECT_LT(error("fp8-block"), 0.03);
}

TEST(Quantise, ScalesFollowTheirDefinitions) {
  const auto w = normal(2 * 64);
  const auto largest = [&](std::size_t begin, std::size_t end) {
    float most = 0;
    for (std::size_t i = begin; i < end; ++i) most = std::max(most, std::fabs(w[i]));
    return most;
  };
  const auto nf4 = coded("nf4:g64:f32", 2, 64, w);
  EXPECT_EQ(std::bit_cast<float>(nf4.scales[1]), largest(64, 128));
  const auto int4 = coded("int4:g64:f32", 2, 64, w);
  EXPECT_FLOAT_EQ(std::bit_cast<float>(int4.scales[1]), largest(64, 128) / 7.5F);
  const auto mx = coded("mxfp4", 2, 64, w);
  EXPECT_EQ(static_cast<int>(mx.scales[3]) - 127, std::ilogb(largest(96, 128)) - 2);
  const auto mx8 = coded("mxfp8", 2, 64, w);
  EXPECT_EQ(static_cast<int>(mx8.scales[3]) - 127, std::ilogb(largest(96, 128)) - 8);
  const auto nv = coded("nvfp4", 2, 64, w);
  EXPECT_FLOAT_EQ(nv.global_scale, largest(0, 128) / (6 * 448));
  EXPECT_EQ(nv.scales[7], numeric::to_e4m3(largest(112, 128) / 6 / nv.global_scale));
  const auto tensor = coded("int8:tensor:f32", 2, 64, w);
  ASSERT_EQ(tensor.scales.size(), 1U);
  EXPECT_FLOAT_EQ(std::bit_cast<float>(tensor.scales[0]), largest(0, 128) / 127.5F);
}

TEST(Quantise, SlicesAreTheWhole) {
  constexpr std::int64_t kN = 256;
  constexpr std::int64_t kK = 100;
  const auto w = normal(kN * kK);
  for (const std::string_view name : kManyFormats) {
    const WeightFormat format = parse_weight_format(name);
    if (format.ordered) continue;
    const formats::Quantiser quantiser(format, kN, kK, DataType::f32, w.data(), {});
    const CodedWeight whole = quantiser.rows(0, kN);
    const std::int64_t step = quantiser.slice_rows();
    std::vector<std::uint8_t> codes;
    std::vector<std::uint32_t> scales;
    for (std::int64_t first = 0; first < kN; first += step) {
      const CodedWeight slice = quantiser.rows(first, std::min(step, kN - first));
      codes.insert(codes.end(), slice.codes.begin(), slice.codes.end());
      scales.insert(scales.end(), slice.scales.begin(), slice.scales.end());
    }
    EXPECT_EQ(codes, whole.codes) << name;
    if (format.grouping == Grouping::tensor) continue;
    EXPECT_EQ(scales, whole.scales) << name;
  }
}

TEST(Quantise, ImportantColumnsHaveSmallerErrors) {
  constexpr std::int64_t kN = 64;
  constexpr std::int64_t kK = 512;
  const auto w = normal(kN * kK);
  std::vector<float> moments(kK, 1.0F);
  for (std::size_t column = 0; column < kK; column += 7) moments[column] = 1000.0F;
  const auto weighted = [&](const CodedWeight& weight) {
    std::vector<float> values(w.size());
    dequantise(weight, DataType::f32, values.data());
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const auto error = static_cast<double>(values[i] - w[i]);
      sum += static_cast<double>(moments[i % kK]) * error * error;
    }
    return sum;
  };
  for (const char* format :
       {"int4:g64:f32", "int3z:g64:f32", "nf4:g64:f32", "lut4:g64:f32", "rowlut3:g128:f32"}) {
    EXPECT_LT(weighted(coded(format, kN, kK, w, {moments})), weighted(coded(format, kN, kK, w)))
        << format;
  }
}

TEST(Quantise, TakesZerosAndExtremes) {
  std::vector<float> w(64 * 64, 0.0F);
  for (const std::string_view format : kManyFormats) {
    if (parse_weight_format(format).ordered) continue;
    const WeightError error = error_of(coded(format, 64, 64, w), DataType::f32, w.data());
    EXPECT_EQ(error.largest, 0) << format;
  }
  w[70] = 3e38F;
  w[71] = 1e-45F;
  for (const std::string_view format : kManyFormats) {
    if (parse_weight_format(format).ordered) continue;
    std::vector<float> values(w.size());
    dequantise(coded(format, 64, 64, w), DataType::f32, values.data());
    for (const float value : values) ASSERT_FALSE(std::isnan(value)) << format;
  }
}

TEST(Quantise, ReadsHalvesAtAnyAddress) {
  const auto w = normal(64 * 64);
  std::vector<char> bytes(64 * 64 * 2 + 1);
  std::vector<float> rounded;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::uint16_t half = numeric::to_bf16(w[i]);
    std::memcpy(bytes.data() + 1 + 2 * i, &half, 2);
    rounded.push_back(numeric::from_bf16(half));
  }
  const WeightFormat format = parse_weight_format("nf4");
  EXPECT_EQ(quantise(format, 64, 64, DataType::bf16, bytes.data() + 1),
            quantise(format, 64, 64, DataType::f32, rounded.data()));
}

TEST(Quantise, RefusesWithAName) {
  const auto refused = [](const auto& call, const std::string& argument) {
    try {
      call();
      FAIL() << argument;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.argument(), argument);
    }
  };
  auto w = normal(64 * 64);
  const std::vector<float> moments(63, 1.0F);
  refused([&] { coded("nf4", 64, 64, w, {moments}); }, "second_moments");
  refused([&] { coded("int4z:g32:f16:order", 64, 64, w); }, "format.ordered");
  refused([&] { quantise(parse_weight_format("nf4"), 2, 2, DataType::f32, nullptr); }, "w");
  refused([&] { coded("nf4", -1, 64, w); }, "n, k");
  w[64 * 3 + 5] = NAN;
  w[64 * 7] = INFINITY;
  try {
    coded("nf4", 64, 64, w);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("row 3, column 5"), std::string::npos);
  }
  refused([&] { coded("nvfp4", 64, 64, w); }, "w");
}

}  // namespace
}  // namespace gemwright
