#include <gemwright/gemwright.hpp>

#include <string>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

TEST(Key, NamesALinearLayer) {
  EXPECT_EQ(key(Problem::linear(16, 4096, 1024, DataType::bf16)),
            "m=16 n=4096 k=1024 a=bf16:1024:1 b=bf16:1:1024 d=bf16:4096:1");
}

TEST(Key, ReadsBackEveryField) {
  Problem problem = Problem::bmm(7, 3, 5, 11, DataType::f16);
  problem.a.alignment = 2;
  problem.b.packed = true;
  problem.d.type = DataType::f32;
  problem.c = problem.d;
  problem.c->row_stride = 0;
  problem.bias = Bias::per_row;
  problem.bias_type = DataType::bf16;
  problem.alpha = 0.1F;
  problem.beta = -1.0F / 3.0F;
  problem.allow_tf32 = true;
  problem.batch_invariant = true;
  EXPECT_EQ(parse_problem(key(problem)), problem);
}

TEST(Key, ReadsBackALowBitWeightAndItsActivations) {
  Problem problem =
      Problem::linear(16, 64, 32, DataType::bf16, parse_weight_format("int4:g32:bf16"));
  const std::string as_given = key(problem);
  EXPECT_EQ(as_given, "m=16 n=64 k=32 a=bf16:32:1 b=bf16:0:0#packed d=bf16:64:1 w=int4:g32:bf16");
  for (const Activations to : {Activations::e4m3, Activations::int8}) {
    problem.activations = to;
    EXPECT_EQ(key(problem), as_given + " activations=" + std::string(name(to)));
    EXPECT_EQ(parse_problem(key(problem)), problem);
  }
}

TEST(Key, ProblemsThatDifferHaveKeysThatDiffer) {
  const Problem base = Problem::bmm(2, 8, 8, 8, DataType::f16);
  Problem other = base;
  other.a.batch_stride = 0;
  EXPECT_NE(key(base), key(other));
  other = base;
  other.d.type = DataType::bf16;
  EXPECT_NE(key(base), key(other));
  other = base;
  other.b.alignment = 2;
  EXPECT_NE(key(base), key(other));
}

void expect_refused(const std::string& text, const std::string& argument) {
  try {
    parse_problem(text);
    FAIL() << "accepted: " << text;
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.argument(), argument) << text;
  }
}

TEST(Key, RefusesWithTheFieldsName) {
  const std::string rest = " a=f32:8:1 b=f32:8:1 d=f32:8:1";
  expect_refused("n=8 k=8" + rest, "key");
  expect_refused("m=x n=8 k=8" + rest, "m");
  expect_refused("m=-1 n=8 k=8" + rest, "m");
  expect_refused("m=8 n=99999999999999999999 k=8" + rest, "n");
  expect_refused("m=8 n=8 k=8 a=f33:8:1 b=f32:8:1 d=f32:8:1", "type");
  expect_refused("m=8 n=8 k=8 a=f32:8 b=f32:8:1 d=f32:8:1", "a.col_stride");
  expect_refused("m=8 n=8 k=8" + rest + " colour=red", "key");
  expect_refused("m=8 n=8 k=8" + rest + " beta=1", "c");
  expect_refused("m=8 n=8 k=8" + rest + " m=8", "key");
  expect_refused("m=8 n=8 k=8" + rest + " tf32 tf32", "key");
  expect_refused("m=8 n=8 k=8" + rest + " activations=int8", "activations");
  expect_refused("m=8 n=8 k=8" + rest + " activations=int7", "activations");
  expect_refused("m=8 n=8 k=8 a=f32:8:1@3 b=f32:8:1 d=f32:8:1", "a.alignment");
}

}  // namespace
}  // namespace gemwright
