#include <gemwright/gemwright.hpp>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

std::string refused_argument(const Problem& problem) {
  try {
    problem.check();
  } catch (const InvalidArgument& error) {
    return error.argument();
  }
  return "";
}

TEST(Problem, SoundOnesPass) {
  EXPECT_EQ(refused_argument(Problem::mm(0, 0, 0, DataType::f32)), "");
  EXPECT_EQ(refused_argument(Problem::mm(1, 1, 1, DataType::f16)), "");
  EXPECT_EQ(refused_argument(Problem::mm(4, 0, 8, DataType::f32)), "");
  Problem broadcast = Problem::bmm(4, 8, 8, 8, DataType::f32);
  broadcast.a.row_stride = 0;
  broadcast.b.batch_stride = 0;
  EXPECT_EQ(refused_argument(broadcast), "");
  Problem transposed = Problem::mm(8, 16, 4, DataType::f32);
  transposed.d = {.type = DataType::f32, .row_stride = 1, .col_stride = 8};
  EXPECT_EQ(refused_argument(transposed), "");
}

TEST(Problem, OutputElementsMustNotOverlap) {
  Problem problem = Problem::bmm(2, 8, 8, 8, DataType::f32);
  problem.d.batch_stride = 0;
  EXPECT_EQ(refused_argument(problem), "d");
  problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.d.row_stride = 7;
  EXPECT_EQ(refused_argument(problem), "d");
  // Rows and columns that interleave: 8 columns 5 apart meet rows 8 apart at the ninth only.
  problem = Problem::mm(5, 8, 8, DataType::f32);
  problem.d.row_stride = 8;
  problem.d.col_stride = 5;
  EXPECT_EQ(refused_argument(problem), "");
  problem.m = 6;
  problem.n = 9;
  EXPECT_EQ(refused_argument(problem), "d");
}

TEST(Problem, BadFieldsAreNamed) {
  Problem problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.k = -1;
  EXPECT_EQ(refused_argument(problem), "k");
  problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.a.col_stride = -1;
  EXPECT_EQ(refused_argument(problem), "a.col_stride");
  problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.a.packed = true;
  EXPECT_EQ(refused_argument(problem), "a.packed");
  problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.beta = 2;
  EXPECT_EQ(refused_argument(problem), "c");
}

TEST(Problem, EnumerationsThatAreNoneAreNamed) {
  const auto no_type = static_cast<DataType>(77);
  Problem problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.b.type = no_type;
  EXPECT_EQ(refused_argument(problem), "b.type");
  problem = Problem::mm(8, 8, 8, DataType::f32);
  problem.bias = static_cast<Bias>(9);
  EXPECT_EQ(refused_argument(problem), "bias");
  problem.bias = Bias::per_row;
  problem.bias_type = no_type;
  EXPECT_EQ(refused_argument(problem), "bias_type");
  EXPECT_THROW(Problem::mm(8, 8, 8, no_type), InvalidArgument);
  problem = Problem::linear(8, 8, 8, DataType::f32, parse_weight_format("nf4"));
  problem.activations = static_cast<Activations>(3);
  EXPECT_EQ(refused_argument(problem), "activations");
}

TEST(Problem, ActivationsAreRoundedForLowBitWeightsOnly) {
  Problem problem = Problem::linear(8, 8, 8, DataType::f16);
  problem.activations = Activations::int8;
  EXPECT_EQ(refused_argument(problem), "activations");
  problem = Problem::linear(8, 8, 8, DataType::f16, parse_weight_format("int4"));
  problem.activations = Activations::int8;
  EXPECT_EQ(refused_argument(problem), "");
}

TEST(Problem, EmptyOnesPassWhateverTheStrides) {
  EXPECT_EQ(refused_argument(Problem::bmm(3, 0, 17, 5, DataType::f32)), "");
  EXPECT_EQ(refused_argument(Problem::bmm(3, 17, 0, 5, DataType::f32)), "");
}

TEST(Problem, WhatNoMachineHoldsIsRefused) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  EXPECT_THROW(Problem::mm(kLarge, kLarge, kLarge, DataType::f32), InvalidArgument);
  Problem problem = Problem::mm(1 << 20, 4, 4, DataType::f32);
  problem.batch = kLarge;
  EXPECT_EQ(refused_argument(problem), "batch * m * k");
  // 2^16 rows 2^48 apart: the reach is a multiple of 2^64.
  problem = Problem::mm((1 << 16) + 1, 4, 4, DataType::f32);
  problem.d.row_stride = std::int64_t{1} << 48;
  EXPECT_EQ(refused_argument(problem), "d");
  // The stride of a dimension of size 1 reaches nowhere.
  problem = Problem::mm(1, 4, 4, DataType::f32);
  for (const std::int64_t stride :
       {std::int64_t{1} << 48, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    problem.a.row_stride = problem.d.row_stride = stride;
    problem.b.batch_stride = stride;
    EXPECT_EQ(refused_argument(problem), "") << stride;
    EXPECT_EQ(canonical(problem).problem, canonical(Problem::mm(1, 4, 4, DataType::f32)).problem);
    EXPECT_EQ(parse_problem(key(problem)), problem);
  }
  problem.m = 2;
  EXPECT_EQ(refused_argument(problem), "a.row_stride");
}

TEST(Problem, BytesCountEveryDistinctElementOnce) {
  Problem problem = Problem::mm(2, 3, 4, DataType::bf16);
  EXPECT_EQ(problem.bytes(), 2.0 * (8 + 12 + 6));
  problem.a.row_stride = 0;
  EXPECT_EQ(problem.bytes(), 2.0 * (4 + 12 + 6));
  EXPECT_EQ(problem.flops(), 48.0);
}

TEST(DataTypes, ParseTheSpellingsInUse) {
  EXPECT_EQ(parse_data_type("torch.bfloat16"), DataType::bf16);
  EXPECT_EQ(parse_data_type("half"), DataType::f16);
  EXPECT_EQ(parse_data_type("f32"), DataType::f32);
  EXPECT_THROW(parse_data_type("int4"), InvalidArgument);
}

}  // namespace
}  // namespace gemwright
