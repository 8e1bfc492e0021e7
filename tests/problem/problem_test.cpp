#include <gemwright/gemwright.hpp>

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
