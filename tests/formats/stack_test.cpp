#include "formats/random_weight.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/weights.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

// Bits of fp32, among which a NaN equals itself.
std::vector<std::uint32_t> values_of(const CodedWeight& weight) {
  std::vector<std::uint32_t> values(static_cast<std::size_t>(weight.n * weight.k));
  dequantise(weight, DataType::f32, values.data());
  return values;
}

// Columns are in one order in all of them.
std::vector<CodedWeight> three(std::string_view format, std::int64_t n, std::int64_t k) {
  std::vector<CodedWeight> weights;
  for (unsigned i = 0; i < 3; ++i) weights.push_back(random_coded(format, n << i, k, i + 1));
  for (auto& weight : weights) weight.order = weights.front().order;
  return weights;
}

void expect_argument(const std::vector<CodedWeight>& weights, const std::string& argument) {
  try {
    stack(weights);
    ADD_FAILURE() << "no refusal of " << argument;
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.argument(), argument) << error.what();
  }
}

class StackFormats : public testing::TestWithParam<std::string_view> {};

TEST_P(StackFormats, KeepsEveryValue) {
  const std::vector<CodedWeight> weights = three(GetParam(), 128, 192);
  const CodedWeight& first = weights.front();
  if (first.format.codes == Codes::learned && first.format.grouping == Grouping::flat) {
    expect_argument(weights, "format.grouping");  // no codebook of a row with blocks across rows
    return;
  }
  const CodedWeight all = stack(weights);
  all.check();
  EXPECT_EQ(all.n, 7 * 128);
  std::vector<std::uint32_t> wanted;
  for (const auto& weight : weights) {
    const std::vector<std::uint32_t> values = values_of(weight);
    wanted.insert(wanted.end(), values.begin(), values.end());
  }
  EXPECT_EQ(values_of(all), wanted);
}

TEST_P(StackFormats, LeavesOneWeightAsItIs) {
  const CodedWeight weight = random_coded(GetParam(), 5, 100);
  EXPECT_EQ(stack({{weight}}), weight);
}

INSTANTIATE_TEST_SUITE_P(Formats, StackFormats, testing::ValuesIn(kManyFormats),
                         [](const auto& format) {
                           std::string name(format.param);
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

TEST(Stack, KeepsWhatAllShare) {
  CodedWeight scaled = random_coded("fp8", 3, 64);
  scaled.format.grouping = Grouping::tensor;
  scaled.scales.resize(1);
  EXPECT_EQ(stack({{scaled, scaled}}).format, scaled.format);
  const CodedWeight learned = random_coded("lut4", 3, 64);
  EXPECT_EQ(stack({{learned, learned}}).format, learned.format);
}

TEST(Stack, RefusesWhatDoesNotFit) {
  expect_argument({}, "weights");
  const CodedWeight first = random_coded("int4", 4, 64);
  expect_argument({first, random_coded("int3", 4, 64)}, "weights[1].format");
  expect_argument({first, random_coded("int4", 4, 65)}, "weights[1].k");
  CodedWeight broken = first;
  broken.codes.pop_back();
  expect_argument({first, broken}, "weights[1]: weight.codes");
  CodedWeight global = random_coded("nvfp4", 4, 64);
  CodedWeight other = global;
  other.global_scale *= 2;
  expect_argument({global, other}, "weights[1].global_scale");
  // 65 rows of blocks of 64 (a short one at the end only), 3 rows of 96 columns of flat 64.
  const CodedWeight blocks = random_coded("e4m3:64x64:f32", 65, 64);
  expect_argument({blocks, blocks}, "weights[0].n");
  const CodedWeight flat = random_coded("bnb-nf4", 3, 96);
  expect_argument({flat, flat}, "weights[0].n");
}

TEST(Stack, RefusesAnotherOrder) {
  const CodedWeight first = random_coded("int4z:g128:f16:order", 4, 64);
  CodedWeight other = first;
  std::swap(other.order.front(), other.order.back());
  expect_argument({first, other}, "weights[1].order");
}

}  // namespace
}  // namespace gemwright
