#include "problem/transposed.hpp"

#include <gtest/gtest.h>

namespace gemwright {
namespace {

TEST(Transposed, SwapsSidesAndStridesAndBias) {
  Problem problem = Problem::mm(3, 5, 7, DataType::f16);
  problem.b.type = DataType::bf16;
  problem.c = problem.d;
  problem.c->row_stride = 8;
  problem.bias = Bias::per_column;
  const Problem swapped = transposed(problem);
  EXPECT_EQ(swapped.m, 5);
  EXPECT_EQ(swapped.n, 3);
  EXPECT_EQ(swapped.k, 7);
  EXPECT_EQ(swapped.a.type, DataType::bf16);
  EXPECT_EQ(swapped.a.row_stride, 1);
  EXPECT_EQ(swapped.a.col_stride, 5);
  EXPECT_EQ(swapped.b.row_stride, 1);
  EXPECT_EQ(swapped.b.col_stride, 7);
  EXPECT_EQ(swapped.c->col_stride, 8);
  EXPECT_EQ(swapped.d.col_stride, 5);
  EXPECT_EQ(swapped.bias, Bias::per_row);
  EXPECT_EQ(key(transposed(swapped)), key(problem));
}

}  // namespace
}  // namespace gemwright
