#include <gemwright/gemwright.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

TEST(WeightFormat, KeysReadBack) {
  for (const char* text :
       {"nf4:g64:bf16", "nf2:row:f16", "fp4:flat64:f32", "int4z:g128:f16:order", "int3r:g32:f16",
        "int8:tensor:f32", "e2m1:g16:e4m3*f32", "e2m1:g32:e8m0", "e4m3:128x128:f32",
        "e5m2:g32:e8m0", "lut3:g256:bf16", "rowlut4:row:f32", "lut8:g16:e4m3"}) {
    const WeightFormat format = parse_weight_format(text);
    EXPECT_EQ(key(format), text);
    EXPECT_EQ(parse_weight_format(key(format)), format);
  }
}

TEST(WeightFormat, PresetsAreWhatTheyAreCalled) {
  const std::vector<std::pair<const char*, const char*>> presets{
      {"nf4", "nf4:g64:bf16"},        {"bnb-nf4", "nf4:flat64:f32"},     {"int4", "int4:g128:bf16"},
      {"int8", "int8:row:f32"},       {"mxfp4", "e2m1:g32:e8m0"},        {"mxfp8", "e4m3:g32:e8m0"},
      {"nvfp4", "e2m1:g16:e4m3*f32"}, {"fp8-block", "e4m3:128x128:f32"},
  };
  for (const auto& [name, text] : presets) EXPECT_EQ(key(parse_weight_format(name)), text);
}

void expect_refused(const std::string& text, const std::string& argument) {
  try {
    parse_weight_format(text);
    FAIL() << "accepted: " << text;
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.argument(), argument) << text;
  }
}

TEST(WeightFormat, RefusesWithTheFieldsName) {
  expect_refused("", "format");
  expect_refused("nf9", "format");
  expect_refused("nf:g64:bf16", "format.codes");
  expect_refused("int4y:g64:bf16", "format.codes");
  expect_refused("nf8:g64:bf16", "format.bits");
  expect_refused("int5:g64:bf16", "format.bits");
  expect_refused("int99999999999:g64:bf16", "format.codes");
  expect_refused("nf4z:g64:bf16", "format.zero");
  expect_refused("int4r:g64:e8m0", "format.zero");
  expect_refused("nf4:g48:bf16", "format.group");
  expect_refused("nf4:g512:bf16", "format.group");
  expect_refused("nf4:g-64:bf16", "format.group");
  expect_refused("nf4:64:bf16", "format.group");
  expect_refused("e4m3:128x64:f32", "format.group");
  expect_refused("nf4:flat8192:f32", "format.group");
  expect_refused("nf4:g64", "format.scale");
  expect_refused("nf4:g64:bf16*f16", "format.scale");
  expect_refused("nf4:g64:bf16:", "format.order");
  expect_refused("nf4:g64:bf16:odd", "format.order");
  expect_refused("nf4:flat64:f32:order", "format.ordered");
}

TEST(WeightFormat, IsAPartOfAProblem) {
  const Problem problem =
      Problem::linear(16, 4096, 1000, DataType::bf16, parse_weight_format("nf4"));
  EXPECT_NO_THROW(problem.check());
  EXPECT_EQ(key(problem),
            "m=16 n=4096 k=1000 a=bf16:1000:1 b=bf16:0:0#packed d=bf16:4096:1 w=nf4:g64:bf16");
  EXPECT_EQ(parse_problem(key(problem)), problem);
  Problem plain = problem;
  plain.b.packed = false;
  EXPECT_THROW(plain.check(), InvalidArgument);
  Problem wrong = problem;
  wrong.weight->bits = 5;
  EXPECT_THROW(wrong.check(), InvalidArgument);
}

TEST(WeightFormat, CanonicalFormsAreEqualWhereTheProductsAre) {
  const auto form = [](const char* format, DataType b, std::int64_t k) {
    Problem problem = Problem::linear(8, 64, k, DataType::f16, parse_weight_format(format));
    problem.b.type = b;
    return key(canonical(problem).problem);
  };
  EXPECT_EQ(form("nf4:flat64:f32", DataType::f16, 128), form("nf4:g64:f32", DataType::f16, 128));
  EXPECT_NE(form("nf4:flat64:f32", DataType::f16, 100), form("nf4:g64:f32", DataType::f16, 100));
  // Integers are exact in any type; the entries of NF4 are not.
  EXPECT_EQ(form("int4", DataType::f32, 128), form("int4", DataType::f16, 128));
  EXPECT_NE(form("nf4", DataType::f32, 128), form("nf4", DataType::f16, 128));
}

TEST(WeightFormat, CountsTheBytesThatMove) {
  const Problem dense = Problem::linear(1, 4096, 4096, DataType::bf16);
  const Problem low = Problem::linear(1, 4096, 4096, DataType::bf16, parse_weight_format("nf4"));
  EXPECT_EQ(packed_weights_bytes(low), 256U + 4096 * 4096 / 2 + 4096 * 64 * 2 + 256);
  EXPECT_NEAR(low.bytes() / dense.bytes(), 4.25 / 16, 1e-3);
}

}  // namespace
}  // namespace gemwright
