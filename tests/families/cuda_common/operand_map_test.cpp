#include "families/cuda_common/operand_map.hpp"

#include <gtest/gtest.h>

namespace gemwright::cuda_layout {
namespace {

const Operand kRows{.type = DataType::bf16,
                    .row_stride = 1032,
                    .col_stride = 1,
                    .batch_stride = 70000,
                    .alignment = 16};

TEST(OperandMap, RowsOfABatch) {
  const auto map = operand_map(kRows, {1024, 60, 1032, 64, 16}, 5, 1);
  EXPECT_EQ(map.ordinal, 1);
  EXPECT_EQ(map.rank, 3);
  EXPECT_EQ(map.type, DataType::bf16);
  EXPECT_EQ(map.size, (std::array<std::uint64_t, 5>{1024, 60, 5}));
  EXPECT_EQ(map.stride_bytes, (std::array<std::uint64_t, 5>{0, 2064, 140000}));
  EXPECT_EQ(map.box, (std::array<std::uint32_t, 5>{64, 16, 1}));
}

TEST(OperandMap, SizesOfOneHaveNoStride) {
  Operand shared = kRows;
  shared.batch_stride = 0;
  const auto map = operand_map(shared, {1024, 1, 3, 64, 16}, 5, 0);
  EXPECT_EQ(map.size, (std::array<std::uint64_t, 5>{1024, 1, 1}));
  EXPECT_EQ(map.stride_bytes, (std::array<std::uint64_t, 5>{0, 16, 16}));
}

TEST(OperandMap, EmptySizesCountAsOne) {
  const auto map = operand_map(kRows, {0, 60, 1032, 64, 16}, 1, 0);
  EXPECT_EQ(map.size, (std::array<std::uint64_t, 5>{1, 60, 1}));
}

}  // namespace
}  // namespace gemwright::cuda_layout
