#include "families/cuda_common/layout.hpp"

#include "families/cuda_common/gemm_kernel.hpp"
#include "problem/transposed.hpp"

#include <gtest/gtest.h>

namespace gemwright::cuda_layout {
namespace {

TEST(CudaLayout, MajorsOfTheFourLayouts) {
  const Problem mm = Problem::mm(64, 128, 256, DataType::bf16);
  EXPECT_EQ(input_a(mm).major(), Major::along_k);
  EXPECT_EQ(input_b(mm).major(), Major::along_rows);
  EXPECT_EQ(input_b(Problem::linear(64, 128, 256, DataType::bf16)).major(), Major::along_k);
  EXPECT_EQ(input_a(transposed(mm)).major(), Major::along_rows);
}

TEST(CudaLayout, CopiesAreAsWideAsEveryStrideAndThePointerAllow) {
  Problem problem = Problem::linear(64, 128, 256, DataType::bf16);
  EXPECT_EQ(input_a(problem).copy_bytes(), 16);
  problem.a.row_stride = 260;  // 520 bytes
  EXPECT_EQ(input_a(problem).copy_bytes(), 8);
  problem.a.row_stride = 258;
  EXPECT_EQ(input_a(problem).copy_bytes(), 4);
  problem.a.row_stride = 257;
  EXPECT_EQ(input_a(problem).copy_bytes(), 0);
  problem.a.row_stride = 256;
  problem.a.alignment = 4;
  EXPECT_EQ(input_a(problem).copy_bytes(), 4);
  problem.a.alignment = 16;
  problem.a.col_stride = 2;
  EXPECT_EQ(input_a(problem).copy_bytes(), 0);
}

TEST(CudaLayout, BatchStridesCountOnlyWhereThereIsABatch) {
  Problem problem = Problem::bmm(3, 8, 16, 24, DataType::bf16);
  problem.a.batch_stride = 193;
  EXPECT_EQ(input_a(problem).copy_bytes(), 0);
  problem.batch = 1;
  EXPECT_EQ(input_a(problem).copy_bytes(), 16);
}

TEST(CudaLayout, CopiesAlongRowsStayWithinALine) {
  // Twelve rows are a copy and a half: only a padded line may be read by 16 bytes.
  Problem problem = Problem::mm(8, 12, 32, DataType::bf16);
  problem.b.row_stride = 16;
  EXPECT_EQ(input_b(problem).copy_bytes(), 16);
  problem.b.row_stride = 8;  // overlapping lines
  EXPECT_EQ(input_b(problem).copy_bytes(), 8);
  problem.b.row_stride = 0;
  EXPECT_EQ(input_b(problem).copy_bytes(), 8);
}

TEST(CudaLayout, VectorsDivideTheSizeToo) {
  Problem problem = Problem::linear(4, 16, 64, DataType::f32);
  EXPECT_EQ(input_a(problem).vector(16), 4);
  problem.k = 62;
  EXPECT_EQ(input_a(problem).vector(16), 2);
  problem.k = 61;
  EXPECT_EQ(input_a(problem).vector(16), 1);
}

TEST(CudaLayout, OutputWidthIsThatOfDAndC) {
  Problem problem = Problem::mm(8, 64, 32, DataType::bf16);
  EXPECT_EQ(output_width(problem), 8);
  problem.c = problem.d;
  problem.c->row_stride = 66;
  problem.beta = 1;
  EXPECT_EQ(output_width(problem), 2);
  problem.c.reset();
  problem.n = 63;
  EXPECT_EQ(output_width(problem), 1);
  EXPECT_EQ(output_width(transposed(Problem::mm(8, 64, 32, DataType::bf16))), 1);
}

TEST(CudaLayout, RefusesWhatThirtyTwoBitsCannotCount) {
  Problem problem = Problem::mm(8, 64, 32, DataType::bf16);
  EXPECT_FALSE(refuse_sizes(problem));
  problem.k = std::int64_t{1} << 31;
  ASSERT_TRUE(refuse_sizes(problem));
  EXPECT_NE(refuse_sizes(problem)->find("k is 2147483648"), std::string::npos);
}

TEST(GemmLaunch, SplitsNoFurtherThanTilesOfKAndCounters) {
  const TileLaunch launch{.tile_m = 64, .tile_n = 64, .tile_k = 32, .threads = 128, .splits = 8};
  EXPECT_EQ(effective_splits(Problem::mm(64, 64, 4096, DataType::bf16), launch), 8);
  EXPECT_EQ(effective_splits(Problem::mm(64, 64, 96, DataType::bf16), launch), 3);
  EXPECT_EQ(effective_splits(Problem::mm(64, 64, 0, DataType::bf16), launch), 1);
  EXPECT_EQ(effective_splits(Problem::mm(16384, 16384, 4096, DataType::bf16), launch), 1);
}

TEST(GemmLaunch, GridsThatAreTooLargeAreNone) {
  const TileLaunch launch{.tile_m = 16, .tile_n = 64, .tile_k = 32, .threads = 128};
  EXPECT_EQ(grid_size(Problem::mm(32, 65, 8, DataType::bf16), launch), 4);
  Problem problem = Problem::mm(32, 64, 8, DataType::bf16);
  problem.m = problem.n = kMaxSize;
  EXPECT_EQ(grid_size(problem, launch), 0);
  problem = Problem::mm(32, 64, 8, DataType::bf16);
  problem.batch = kMaxSize;
  EXPECT_EQ(grid_size(problem, launch), 0);
}

}  // namespace
}  // namespace gemwright::cuda_layout
