#include "tune/testbed.hpp"

#include "numeric/convert.hpp"
#include "problem/extent.hpp"
#include "tune/fakes.hpp"
#include "tune/random.hpp"

#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::tune {
namespace {

// Does what a test wants with the operands of each run.
class Probe final : public Kernel {
 public:
  using Look = std::function<void(const Problem&, const Operands&, void* workspace)>;
  explicit Probe(Look look, std::size_t workspace = 0)
      : look_(std::move(look)), workspace_(workspace) {}
  bool serves(const Problem&) const override { return true; }
  std::size_t workspace_bytes(const Problem&) const override { return workspace_; }
  void run(const Problem& problem, const Operands& operands, void* workspace,
           Stream) const override {
    look_(problem, operands, workspace);
  }

 private:
  Look look_;
  std::size_t workspace_;
};

double value_of(const Problem& problem, Input input, DataType type, std::int64_t at) {
  const auto period = random_period(type, input, input_scale(problem, input), at + 1);
  return numeric::load(type, period.data(), at % kRandomPeriod);
}

TEST(Random, IsNearNormalAndOfItsOwnForEachInput) {
  const auto a = random_period(DataType::f32, Input::a, 1);
  const auto b = random_period(DataType::f32, Input::b, 1);
  double sum = 0, squares = 0, cross = 0;
  for (std::int64_t i = 0; i < kRandomPeriod; ++i) {
    const double x = numeric::load(DataType::f32, a.data(), i);
    sum += x;
    squares += x * x;
    cross += x * numeric::load(DataType::f32, b.data(), i);
    ASSERT_LE(std::fabs(x), 4);
  }
  const auto n = static_cast<double>(kRandomPeriod);
  EXPECT_NEAR(sum / n, 0, 5e-3);
  EXPECT_NEAR(squares / n, 4.0 / 3, 1e-2);
  EXPECT_NEAR(cross / n, 0, 5e-3);
}

TEST(Random, FillsAnyPartAlike) {
  const auto period = random_period(DataType::bf16, Input::a, 1);
  std::vector<std::uint16_t> whole(kRandomPeriod * 2 + 100);
  fill_random(whole.data(), 0, std::ssize(whole), DataType::bf16, period);
  std::vector<std::uint16_t> part(kRandomPeriod);
  fill_random(part.data(), kRandomPeriod - 50, std::ssize(part), DataType::bf16, period);
  for (std::size_t i = 0; i < part.size(); ++i) {
    ASSERT_EQ(part[i], whole[kRandomPeriod - 50 + i]) << i;
  }
}

TEST(Random, ScaleOfWeightsFollowsK) {
  EXPECT_EQ(input_scale(Problem::mm(1, 1, 4096, DataType::f32), Input::b), 1.0 / 64);
  EXPECT_EQ(input_scale(Problem::mm(1, 1, 4096, DataType::f32), Input::a), 1);
  EXPECT_EQ(input_scale(Problem::mm(1, 1, 0, DataType::f32), Input::b), 1);
}

TEST(Copies, ExceedThreeCachesWithinTheBudget) {
  const Problem problem = Problem::linear(1, 1024, 1024, DataType::bf16);  // 2 MiB of B
  constexpr std::size_t kMiB = 1 << 20;
  EXPECT_EQ(rotating_copies(problem, 32 * kMiB, 1000 * kMiB), 49);
  EXPECT_EQ(rotating_copies(problem, 32 * kMiB, 20 * kMiB), 10);
  EXPECT_EQ(rotating_copies(problem, 32 * kMiB, 1), 1);
  EXPECT_EQ(rotating_copies(Problem::linear(1, 8, 0, DataType::bf16), 32 * kMiB, kMiB), 1);
  // Each copy takes a page and a mapping, however small it is.
  EXPECT_EQ(rotating_copies(Problem::linear(1, 8, 8, DataType::bf16), 512 * kMiB, 8192 * kMiB),
            16384);
}

TEST(CpuTestbed, OperandsHoldTheirValuesWithStridesAndAlignment) {
  Problem problem = Problem::bmm(3, 5, 7, 11, DataType::bf16);
  problem.a.row_stride = 13;
  problem.a.batch_stride = 9;  // overlapping
  problem.a.alignment = 2;
  problem.b.batch_stride = 0;
  problem.d.row_stride = 10;
  problem.d.batch_stride = 64;
  problem.c = problem.d;
  problem.c->type = DataType::f32;
  problem.c->alignment = 4;
  problem.beta = 1;
  problem.bias = Bias::per_row;
  problem.bias_type = DataType::f16;
  const auto testbed = make_testbed(problem, small_device(), {.copies = 2});
  int runs = 0;
  const Probe probe([&](const Problem& p, const Operands& o, void*) {
    ++runs;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(o.a) % 4, 2U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(o.c) % 8, 4U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(o.b) % 64, 0U);
    for (std::int64_t i = 0; i < span_elements(p.a, p.m, p.k, p.batch); ++i) {
      ASSERT_EQ(numeric::load(p.a.type, o.a, i), value_of(p, Input::a, p.a.type, i));
    }
    for (std::int64_t i = 0; i < p.k * p.n; ++i) {
      ASSERT_EQ(numeric::load(p.b.type, o.b, i), value_of(p, Input::b, p.b.type, i));
    }
    EXPECT_EQ(numeric::load(p.c->type, o.c, 150), value_of(p, Input::c, p.c->type, 150));
    EXPECT_EQ(numeric::load(p.bias_type, o.bias, 4), value_of(p, Input::bias, p.bias_type, 4));
  });
  testbed->run(probe, true);
  EXPECT_EQ(runs, 1);
}

TEST(CpuTestbed, PoisonsDAndShowsWhatWasWritten) {
  const Problem problem = Problem::mm(4, 6, 2, DataType::f32);
  const auto testbed = make_testbed(problem, small_device(), {.copies = 1});
  testbed->poison();
  testbed->run(
      Probe([](const Problem&, const Operands& o, void*) { static_cast<float*>(o.d)[23] = 42; }),
      true);
  const auto output = testbed->output();
  ASSERT_EQ(output.size(), static_cast<std::size_t>(2 * kGuardBytes + 24 * 4));
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::size_t written = static_cast<std::size_t>(kGuardBytes) + 23 * 4;
    if (i >= written && i < written + 4) continue;
    ASSERT_EQ(output[i], kPoison) << i;
  }
  EXPECT_EQ(numeric::load(DataType::f32, output.data() + kGuardBytes, 23), 42);
}

TEST(CpuTestbed, WorkspaceIsZeroedWhenFreshOnly) {
  const auto testbed =
      make_testbed(Problem::mm(4, 6, 2, DataType::f32), small_device(), {.copies = 1});
  std::vector<int> seen;
  const Probe probe([&](const Problem&, const Operands&,
                        void* workspace) { seen.push_back((*static_cast<int*>(workspace))++); },
                    4096);
  for (const bool fresh : {true, false, false, true}) testbed->run(probe, fresh);
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 0}));
}

TEST(CpuTestbed, EveryRunMeetsTheCopyThatWasUsedLongestAgo) {
  const Problem problem = Problem::linear(1, 512, 512, DataType::f32);  // 1 MiB of B
  const auto testbed = make_testbed(problem, small_device());
  ASSERT_EQ(testbed->copies(), 4);
  std::vector<const void*> seen;
  const auto probe = std::make_shared<Probe>(
      [&](const Problem&, const Operands& o, void*) { seen.push_back(o.b); });
  const auto first = testbed->rotation(probe, 3);
  const auto second = testbed->rotation(probe, 1);
  EXPECT_GT(first->seconds(), 0);
  EXPECT_GT(second->seconds(), 0);
  EXPECT_GT(first->seconds(), 0);
  ASSERT_EQ(seen.size(), 7U);
  EXPECT_EQ(std::set<const void*>(seen.begin(), seen.begin() + 4).size(), 4U);
  for (std::size_t i = 4; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], seen[i - 4]) << "whichever rotation ran in between";
  }
}

TEST(CpuTestbed, TooLargeAProblemIsOutOfMemory) {
  Problem problem = Problem::mm(std::int64_t{1} << 21, 8, std::int64_t{1} << 21, DataType::f32);
  EXPECT_THROW(make_testbed(problem, small_device()), OutOfMemory);
}

TEST(CpuTestbed, ADescribedDeviceIsRefused) {
  const Device device = small_device();
  const Device described(std::make_shared<DeviceProfile>(device.profile()), 0, false);
  EXPECT_THROW(make_testbed(Problem::mm(1, 1, 1, DataType::f32), described), DeviceError);
}

}  // namespace
}  // namespace gemwright::tune
