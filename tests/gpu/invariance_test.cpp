// Batch-invariant problems: a row's bits do not depend on how many rows there are.
#include "support/invariance.hpp"

#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"

#include <array>
#include <string>
#include <vector>

namespace gemwright::test {
namespace {

constexpr std::array<std::int64_t, 6> kCounts = {300, 1, 7, 16, 64, 130};
constexpr std::size_t kMost = 12;  // candidates for each

class InvarianceOnGpu : public GpuTest {
 protected:
  void check(const Problem& problem) {
    const Device device = Device::cuda(0);
    std::vector<compile::Source> sources;
    for (const std::int64_t m : kCounts) {
      const Problem form = canonical(first_rows(problem, m)).problem;
      for (const Candidate& c : invariant_candidates(problem, m, device, kMost)) {
        const auto& family = dynamic_cast<const CudaFamily&>(*c.family);
        for (auto& source : family.sources(form, device, c.configuration)) {
          sources.push_back(std::move(source));
        }
      }
    }
    build_ahead(sources);
    memory_.clear();
    EXPECT_EQ(rows_change(problem, kCounts, device, memory_, kMost), "") << key(problem);
  }

  DeviceMemory memory_;
};

TEST_F(InvarianceOnGpu, LinearLayers) {
  check(Problem::linear(kCounts[0], 1544, 2104, DataType::bf16));
  Problem biased = Problem::linear(kCounts[0], 264, 1000, DataType::f16);
  biased.bias = Bias::per_column;
  check(biased);
}

// By mma.sync as by wgmma, where k-tiles are whole.
TEST_F(InvarianceOnGpu, WholeTilesOfK) {
  check(Problem::linear(kCounts[0], 520, 2048, DataType::bf16));
  check(Problem::linear(kCounts[0], 264, 1024, DataType::f16));
  Problem rounded = Problem::linear(kCounts[0], 264, 1024, DataType::f32);
  rounded.allow_tf32 = true;
  check(rounded);
}

// No wide loads: other kernels, and another order.
TEST_F(InvarianceOnGpu, OddPitch) {
  Problem odd = Problem::linear(kCounts[0], 264, 1003, DataType::bf16);
  odd.a.alignment = odd.b.alignment = 2;
  check(odd);
}

TEST_F(InvarianceOnGpu, FullFp32) {
  check(Problem::linear(kCounts[0], 264, 516, DataType::f32));
}

}  // namespace
}  // namespace gemwright::test
