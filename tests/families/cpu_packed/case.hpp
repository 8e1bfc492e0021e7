// Every configuration of a family on one set of operands, the reference computed once.
#pragma once

#include "support/gemm_case.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::testing {

using Values = test::Values;

inline Values normal(unsigned seed = 1) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [random](char, std::int64_t) { return std::normal_distribution<double>()(*random); };
}

/// Small integers: every product and sum is exact in fp32.
inline Values integers(unsigned seed = 1) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [random](char, std::int64_t) {
    return static_cast<double>(static_cast<int>((*random)() % 9U)) - 4.0;
  };
}

class Case {
 public:
  explicit Case(const Problem& problem, const Values& values = normal())
      : problem_(problem),
        memory_(test::host_memory()),
        fixture_({.name = "case", .problem = problem, .values = values}, *memory_) {}

  /// Runs a kernel of the problem (perhaps with packed weights) and checks every byte of D. The
  /// workspace is poisoned: these kernels owe nothing to what is in it.
  void check(const Family& family, const Device& device, const Configuration& configuration,
             const Problem& planned, const void* b) {
    const auto kernel = family.build(planned, device, configuration);
    ASSERT_TRUE(kernel->serves(planned));
    std::vector<std::byte> workspace(kernel->workspace_bytes(planned) + 512, std::byte{0xFF});
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
    Operands operands = fixture_.operands();
    operands.b = b;
    fixture_.reset();
    kernel->run(planned, operands, workspace.data() + (256 - address % 256) % 256, {});
    EXPECT_EQ(fixture_.compare(), "") << family.configuration_name(configuration);
  }

  void check_all(const Family& family, const Device& device) {
    for (const auto& configuration : family.configurations(problem_, device)) {
      check(family, device, configuration, problem_, b());
      if (::testing::Test::HasFailure()) return;
    }
  }

  const void* b() const { return fixture_.operands().b; }

 private:
  Problem problem_;
  std::unique_ptr<test::Memory> memory_;
  test::Fixture fixture_;
};

}  // namespace gemwright::testing
