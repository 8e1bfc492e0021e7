#include <gemwright/gemwright.hpp>

#include <limits>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

TEST(Canonical, RowMajorStaysAsItIs) {
  const Problem problem = Problem::linear(16, 64, 32, DataType::bf16);
  const Canonical form = canonical(problem);
  EXPECT_FALSE(form.swapped);
  EXPECT_EQ(form.problem, problem);
}

TEST(Canonical, ColumnMajorOutputIsTransposed) {
  Problem problem = Problem::mm(16, 64, 32, DataType::f32);
  problem.d.row_stride = 1;
  problem.d.col_stride = 16;
  problem.bias = Bias::per_column;
  const Canonical form = canonical(problem);
  EXPECT_TRUE(form.swapped);
  EXPECT_EQ(form.problem.m, 64);
  EXPECT_EQ(form.problem.n, 16);
  EXPECT_EQ(form.problem.d.col_stride, 1);
  EXPECT_EQ(form.problem.d.row_stride, 16);
  EXPECT_EQ(form.problem.bias, Bias::per_row);
  EXPECT_EQ(form.problem.a.row_stride, problem.b.col_stride);
  EXPECT_EQ(form.problem.b.col_stride, problem.a.row_stride);
}

TEST(Canonical, MatrixTimesColumnBecomesRowTimesMatrix) {
  const Problem problem = Problem::mm(4096, 1, 512, DataType::bf16);
  const Canonical form = canonical(problem);
  EXPECT_TRUE(form.swapped);
  EXPECT_EQ(form.problem.m, 1);
  EXPECT_EQ(form.problem.n, 4096);
  EXPECT_EQ(form.problem, canonical(Problem::linear(1, 4096, 512, DataType::bf16)).problem);
}

TEST(Canonical, StridesOfSizeOneDimensionsSayNothing) {
  Problem odd = Problem::linear(1, 64, 32, DataType::f32);
  odd.a.row_stride = 999983;
  odd.d.row_stride = 7;
  odd.a.batch_stride = 5;
  EXPECT_EQ(canonical(odd).problem, canonical(Problem::linear(1, 64, 32, DataType::f32)).problem);
}

TEST(Canonical, BatchThatSharesBIsFoldedIntoRows) {
  Problem problem = Problem::bmm(8, 4, 64, 32, DataType::f32);
  problem.b.batch_stride = 0;
  EXPECT_EQ(canonical(problem).problem, canonical(Problem::mm(32, 64, 32, DataType::f32)).problem);
}

TEST(Canonical, ABatchIsNotFoldedIntoMoreRowsThanAProblemMayHave) {
  Problem problem = Problem::bmm(1 << 20, std::int64_t{1} << 21, 1, 1, DataType::f32);
  problem.b.batch_stride = 0;
  const Problem form = canonical(problem).problem;
  EXPECT_EQ(form.batch, 1 << 20);
  EXPECT_EQ(parse_problem(key(form)), form);
}

TEST(Canonical, PerRowBiasKeepsTheBatch) {
  Problem problem = Problem::bmm(8, 4, 64, 32, DataType::f32);
  problem.b.batch_stride = 0;
  problem.bias = Bias::per_row;
  EXPECT_EQ(canonical(problem).problem.batch, 8);
}

TEST(Canonical, SingleRowsAreFoldedAlongTheBatchStride) {
  Problem problem = Problem::bmm(8, 1, 64, 32, DataType::f32);
  problem.b.batch_stride = 0;
  problem.a.batch_stride = 100;
  const Problem folded = canonical(problem).problem;
  EXPECT_EQ(folded.m, 8);
  EXPECT_EQ(folded.batch, 1);
  EXPECT_EQ(folded.a.row_stride, 100);
}

TEST(Canonical, CWithoutBetaIsDropped) {
  Problem problem = Problem::mm(4, 4, 4, DataType::f32);
  problem.c = problem.d;
  EXPECT_FALSE(canonical(problem).problem.c.has_value());
}

TEST(Canonical, AlphaSaysNothingWithoutProducts) {
  Problem problem = Problem::mm(4, 4, 0, DataType::f32);
  problem.alpha = std::numeric_limits<float>::infinity();
  EXPECT_EQ(canonical(problem).problem, Problem::mm(4, 4, 0, DataType::f32));
}

TEST(Canonical, ActivationsStayWhereThereAreAny) {
  Problem problem = Problem::linear(4, 4, 8, DataType::f32, parse_weight_format("nf4"));
  problem.activations = Activations::e4m3;
  EXPECT_EQ(canonical(problem).problem.activations, Activations::e4m3);
  problem.k = 0;
  EXPECT_EQ(canonical(problem).problem.activations, Activations::as_given);
}

TEST(Canonical, IsIdempotent) {
  Problem problem = Problem::bmm(3, 5, 1, 7, DataType::f16);
  problem.beta = 1;
  problem.c = problem.d;
  const Problem once = canonical(problem).problem;
  EXPECT_EQ(canonical(once).problem, once);
}

}  // namespace
}  // namespace gemwright
