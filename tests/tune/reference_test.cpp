#include "tune/reference.hpp"

#include "support/cases.hpp"
#include "tune/sampling.hpp"
#include "tune/validate.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace gemwright::tune {
namespace {

const Family& oracle() {
  return *families::find("cpu_reference");
}

// The oracle on a problem that is changed before it runs: a kernel that is wrong in a known way.
class Changed final : public Kernel {
 public:
  explicit Changed(std::function<void(Problem&, Operands&)> change) : change_(std::move(change)) {}
  bool serves(const Problem&) const override { return true; }
  std::size_t workspace_bytes(const Problem&) const override { return 0; }
  void run(const Problem& given, const Operands& operands, void* workspace,
           Stream stream) const override {
    Problem problem = given;
    Operands mapped = operands;
    change_(problem, mapped);
    oracle().build(problem, Device::cpu(), {})->run(problem, mapped, workspace, stream);
  }

 private:
  std::function<void(Problem&, Operands&)> change_;
};

std::string check(const Kernel& kernel, const Problem& problem) {
  const auto testbed = make_testbed(problem, Device::cpu(), {.copies = 1, .guard_pages = true});
  return validate(kernel, problem, *testbed, Reference(problem, 2));
}

std::string check(const Problem& problem, std::function<void(Problem&, Operands&)> change) {
  return check(Changed(std::move(change)), problem);
}

class ReferenceOfType : public testing::TestWithParam<DataType> {};

TEST_P(ReferenceOfType, AgreesWithTheOracleOnEveryLayoutAndEpilogue) {
  int checked = 0;
  for (const auto& cases : {test::shape_cases(GetParam()), test::stride_cases(GetParam()),
                            test::epilogue_cases(GetParam())}) {
    for (const test::Case& one : cases) {
      const Problem problem = canonical(one.problem).problem;
      if (problem.b.packed || problem.flops() > 5e7 || problem.m * problem.n == 0) continue;
      EXPECT_EQ(check(*oracle().build(problem, Device::cpu(), {}), problem), "") << key(problem);
      ++checked;
    }
  }
  EXPECT_GT(checked, 50);
}

TEST_P(ReferenceOfType, AgreesWithTheOracleOnEveryWeightFormat) {
  for (const auto& cases : {test::low_bit_cases(GetParam()), test::rounded_cases(GetParam())}) {
    for (const test::Case& one : cases) {
      const Problem problem = canonical(one.problem).problem;
      if (problem.flops() > 1e6) continue;
      EXPECT_EQ(check(*oracle().build(problem, Device::cpu(), {}), problem), "") << key(problem);
    }
  }
}

TEST(Reference, SeesActivationsThatAreRoundedOtherwise) {
  Problem problem = Problem::linear(40, 50, 260, DataType::bf16, parse_weight_format("int4"));
  problem.d.type = DataType::f32;
  for (const Activations to : {Activations::as_given, Activations::e4m3, Activations::int8}) {
    problem.activations = to;
    for (const Activations other : {Activations::as_given, Activations::e4m3, Activations::int8}) {
      const auto changed = check(problem, [=](Problem& p, Operands&) { p.activations = other; });
      EXPECT_EQ(changed == "", other == to) << name(to) << " as " << name(other);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ReferenceOfType,
                         testing::Values(DataType::f32, DataType::f16, DataType::bf16),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST(Reference, SeesEveryWrongOperandAndFactor) {
  Problem problem = Problem::linear(70, 90, 130, DataType::bf16);
  problem.c = problem.d;
  problem.beta = 0.5F;
  problem.bias = Bias::per_column;
  problem.bias_type = DataType::f32;
  EXPECT_EQ(check(problem, [](Problem&, Operands&) {}), "");
  EXPECT_NE(check(problem, [](Problem& p, Operands&) { p.alpha = 1.01F; }), "");
  EXPECT_NE(check(problem, [](Problem& p, Operands&) { p.beta = 0.49F; }), "");
  EXPECT_NE(check(problem,
                  [](Problem& p, Operands&) {
                    p.c.reset();
                    p.beta = 0;
                  }),
            "");
  EXPECT_NE(check(problem, [](Problem& p, Operands&) { p.bias = Bias::none; }), "");
  EXPECT_NE(check(problem,
                  [](Problem& p, Operands&) {
                    p.b.row_stride = 90;
                    p.b.col_stride = 1;
                  }),
            "");
  EXPECT_NE(check(problem, [](Problem& p, Operands&) { p.a.type = DataType::f16; }), "");
  EXPECT_NE(check(problem, [](Problem& p, Operands&) { --p.n; }), "");
}

Problem with_factors(DataType type, float alpha, float beta) {
  Problem problem = Problem::linear(9, 20, 33, type);
  problem.alpha = alpha;
  problem.beta = beta;
  if (beta != 0) problem.c = problem.d;
  return problem;
}

TEST(Reference, TakesInfinitiesAndNanAsIeeeGivesThem) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
    for (const auto& [alpha, beta] : {std::pair{kInfinity, 0.0F},
                                      {-kInfinity, 0.0F},
                                      {kNan, 0.0F},
                                      {2e38F, 0.0F},
                                      {3e38F, -3e38F},
                                      {1.0F, kInfinity},
                                      {-3e38F, kInfinity},
                                      {kInfinity, kInfinity},
                                      {1e5F, 1.0F}}) {
      const Problem problem = with_factors(type, alpha, beta);
      EXPECT_EQ(check(problem, [](Problem&, Operands&) {}), "") << key(problem);
      const auto as_usual = [](Problem& p, Operands&) {
        p.alpha = 1;
        p.beta = p.c ? 0.5F : 0.0F;
      };
      EXPECT_NE(check(problem, as_usual), "") << key(problem);
    }
    for (const float alpha : {kInfinity, 2e38F}) {
      const Problem problem = with_factors(type, alpha, 0);
      EXPECT_TRUE(Reference(problem, 1).overflows());
      EXPECT_NE(check(problem, [](Problem& p, Operands&) { p.alpha = -p.alpha; }), "");
      EXPECT_NE(check(problem, [=](Problem& p, Operands&) { p.alpha = kNan; }), "");
    }
    EXPECT_FALSE(Reference(with_factors(type, 2, 0.5F), 1).overflows());
    EXPECT_NE(check(with_factors(type, 2, 0), [=](Problem& p, Operands&) { p.alpha = kNan; }), "");
  }
}

TEST(Reference, PackedWeightsAreTheSameProduct) {
  const Device device = Device::cpu();
  int checked = 0;
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
    Problem problem = Problem::linear(6, 50, 77, type);
    problem.b.packed = true;
    problem = canonical(problem).problem;
    for (const Family* family : families::all()) {
      if (family->device_kind() != DeviceKind::cpu || family->refuse(problem, device)) continue;
      const auto configurations = family->configurations(problem, device);
      ASSERT_FALSE(configurations.empty());
      EXPECT_EQ(check(*family->build(problem, device, configurations.front()), problem), "")
          << family->name() << " " << key(problem);
      ++checked;
    }
  }
  EXPECT_GE(checked, 3);
}

TEST(Reference, OneDroppedProductIsSeen) {
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    Problem problem = Problem::mm(16, 64, 4096, type);
    EXPECT_NE(check(problem, [](Problem& p, Operands&) { --p.k; }), "") << name(type);
    problem.allow_tf32 = type == DataType::f32;
    EXPECT_NE(check(problem, [](Problem& p, Operands&) { p.k -= 8; }), "") << name(type);
  }
}

TEST(Reference, PassesFp32AccumulationOfAnyLength) {
  for (const std::int64_t k : {1, 7, 1000, 200'000}) {
    const Problem problem = Problem::mm(5, 7, k, DataType::f32);
    const auto testbed = make_testbed(problem, Device::cpu(), {.copies = 1});
    class InOrder final : public Kernel {
     public:
      bool serves(const Problem&) const override { return true; }
      std::size_t workspace_bytes(const Problem&) const override { return 0; }
      void run(const Problem& p, const Operands& operands, void*, Stream) const override {
        for (std::int64_t i = 0; i < p.m * p.n; ++i) {
          float sum = 0;
          for (std::int64_t j = 0; j < p.k; ++j) {
            sum += static_cast<const float*>(operands.a)[i / p.n * p.k + j] *
                   static_cast<const float*>(operands.b)[j * p.n + i % p.n];
          }
          static_cast<float*>(operands.d)[i] = sum;
        }
      }
    };
    EXPECT_EQ(validate(InOrder(), problem, *testbed, Reference(problem, 1)), "") << k;
  }
}

// Writes zeros into 64 x 64 of D.
class Zeroes final : public Kernel {
 public:
  Zeroes(std::int64_t row, std::int64_t col) : row_(row), col_(col) {}
  bool serves(const Problem&) const override { return true; }
  std::size_t workspace_bytes(const Problem&) const override { return 0; }
  void run(const Problem& p, const Operands& operands, void*, Stream) const override {
    for (std::int64_t i = row_; i < row_ + 64; ++i) {
      std::fill_n(static_cast<float*>(operands.d) + i * p.n + col_, 64, 0.0F);
    }
  }

 private:
  std::int64_t row_, col_;
};

TEST(Reference, SeesOneWrongTileOfALargeProblem) {
  const Problem problem = Problem::mm(2000, 1900, 3, DataType::f32);
  const auto testbed = make_testbed(problem, Device::cpu(), {.copies = 1});
  const Reference reference(problem, 2);
  EXPECT_LT(reference.samples().size(), static_cast<std::size_t>(200'000));
  testbed->poison();
  const auto right = oracle().build(problem, Device::cpu(), {});
  for (const auto& [row, col] : {std::pair{0, 0}, {1936, 1836}, {700, 1000}, {64, 1280}}) {
    testbed->run(*right, true);
    ASSERT_EQ(reference.check(*testbed), "");
    testbed->run(Zeroes(row, col), true);
    EXPECT_NE(reference.check(*testbed), "") << row << " " << col;
  }
}

TEST(Sampling, CoversEdgesAndEveryStretchWithinItsBudget) {
  const Problem problem = Problem::linear(512, 128'256, 4096, DataType::bf16);
  const auto blocks = sample_blocks(problem);
  ASSERT_EQ(blocks.size(), 3U);
  for (const auto& block : blocks) {
    const double lines = static_cast<double>(std::max(block.rows.size(), block.cols.size()));
    EXPECT_LT(lines * 4096, 70e6);
    for (const auto row : block.rows) EXPECT_TRUE(row >= 0 && row < problem.m);
    for (const auto col : block.cols) EXPECT_TRUE(col >= 0 && col < problem.n);
  }
  EXPECT_EQ(blocks[0].rows.front(), 0);
  EXPECT_EQ(blocks[0].rows.back(), 511);
  EXPECT_EQ(blocks[1].cols.back(), 128'255);
  for (std::size_t i = 1; i < blocks[0].cols.size(); ++i) {
    EXPECT_LT(blocks[0].cols[i] - blocks[0].cols[i - 1], 2 * 128'256 / 7000);
  }
}

}  // namespace
}  // namespace gemwright::tune
