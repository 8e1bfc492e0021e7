// Plan sets: one table for a range of M, right for every M in it.
#include "support/cases.hpp"

#include <gtest/gtest.h>

namespace gemwright {
namespace {

PlanOptions untuned() {
  PlanOptions options;
  options.mode = Mode::model;
  return options;
}

void expect_right(const PlanSet& set, const Problem& problem, std::int64_t m) {
  test::Case description{.name = set.kernel(m), .problem = problem};
  description.problem.m = m;
  const auto memory = test::host_memory();
  test::Fixture fixture(description, *memory);
  set.run(m, fixture.operands());
  EXPECT_EQ(fixture.compare(), "") << "m = " << m;
}

TEST(PlanSet, IsRightForEveryM) {
  const Planner planner(Device::cpu(), Store::none());
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    const Problem problem = Problem::linear(1, 80, 72, type);
    const PlanSet set = planner.plan_range(problem, 1, 40, untuned());
    for (std::int64_t m = 1; m <= 40; ++m) expect_right(set, problem, m);
  }
}

// At some M of a gap the vendor's choice for its end may not build: another kernel covers it.
TEST(PlanSet, PassesOverKernelsThatDoNotBuild) {
  const Planner planner(Device::cpu(), Store::none());
  Problem problem = Problem::linear(64, 33, 64, DataType::bf16);
  problem.d = {.type = DataType::bf16, .row_stride = 1, .col_stride = 64};
  problem.alpha = 2;
  const PlanSet set = planner.plan_range(problem, 1, 64, untuned());
  for (const std::int64_t m : {1, 33, 63, 64}) expect_right(set, problem, m);
}

TEST(PlanSet, RefusesAnMOutsideItsRange) {
  const Planner planner(Device::cpu(), Store::none());
  const Problem problem = Problem::linear(1, 16, 16, DataType::f32);
  const PlanSet set = planner.plan_range(problem, 2, 5, untuned());
  EXPECT_EQ(set.min_m(), 2);
  EXPECT_EQ(set.max_m(), 5);
  EXPECT_THROW(set.kernel(1), InvalidArgument);
  EXPECT_THROW(set.run(6, {}), InvalidArgument);
  EXPECT_THROW(planner.plan_range(problem, 5, 2, untuned()), InvalidArgument);
  EXPECT_THROW(planner.plan_range(problem, 0, 2, untuned()), InvalidArgument);
}

}  // namespace
}  // namespace gemwright
