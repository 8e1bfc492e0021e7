// Batch-invariant problems on the CPU: a row's bits do not depend on how many rows there are.
#include "support/invariance.hpp"

#include <gemwright/gemwright.hpp>

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace gemwright::test {
namespace {

constexpr std::array<std::int64_t, 6> kCounts = {64, 1, 2, 7, 16, 33};

TEST(Invariance, RowsKeepTheirBits) {
  const auto memory = host_memory();
  for (const DataType type : {DataType::f32, DataType::bf16, DataType::f16}) {
    for (Problem problem :
         {Problem::linear(kCounts[0], 100, 1100, type), Problem::mm(kCounts[0], 100, 1100, type)}) {
      problem.bias = Bias::per_column;
      EXPECT_EQ(rows_change(problem, kCounts, Device::cpu(), *memory, 10), "") << key(problem);
    }
  }
}

TEST(Invariance, PlansSayWhatTheyLeaveOut) {
  Problem problem = Problem::linear(4, 64, 64, DataType::f32);
  problem.batch_invariant = true;
  const CandidateList list = Planner(Device::cpu(), Store::none()).candidates(problem);
  ASSERT_FALSE(list.candidates.empty());
  for (const CandidateReport& candidate : list.candidates) {
    EXPECT_FALSE(candidate.vendor);
    EXPECT_EQ(candidate.family, "cpu_packed");
  }
}

}  // namespace
}  // namespace gemwright::test
