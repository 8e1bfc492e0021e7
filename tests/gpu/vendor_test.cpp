// cuBLASLt's candidates: named apart, rebuilt from what the store keeps, right on every layout.
#include "gpu/device_memory.hpp"

#include <set>
#include <string>
#include <vector>

namespace gemwright::test {
namespace {

class Vendor : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (const auto why = family_.refuse(Problem::mm(64, 64, 64, DataType::bf16), Device::cuda(0))) {
      GTEST_SKIP() << *why;
    }
  }

  const Family& family_ = *families::find("cuda_vendor");
};

TEST_F(Vendor, EveryHeuristicIsNamedAndComesBackFromItsParameters) {
  const Device device = Device::cuda(0);
  for (const std::int64_t m : {1, 16, 512, 4096}) {
    const Problem problem = Problem::linear(m, 4096, 4096, DataType::bf16);
    const auto configurations = family_.configurations(problem, device);
    EXPECT_GE(configurations.size(), 4U) << m;
    EXPECT_EQ(configurations, family_.configurations(problem, device)) << "not the same twice";
    std::set<std::string> names;
    for (const auto& configuration : configurations) {
      EXPECT_TRUE(names.insert(family_.configuration_name(configuration)).second)
          << family_.configuration_name(configuration);
      EXPECT_EQ(families::from_json(family_, families::to_json(family_, configuration)),
                configuration);
    }
  }
}

TEST_F(Vendor, AnAlgorithmOfAnotherProblemIsRebuiltOrRefused) {
  const Device device = Device::cuda(0);
  DeviceMemory memory;
  Fixture fixture({"rebuilt", Problem::linear(96, 768, 512, DataType::bf16), Fill::normal, false},
                  memory);
  int built = 0;
  for (const std::int64_t m : {1, 64, 2048}) {
    for (const auto& configuration :
         family_.configurations(Problem::linear(m, 4096, 4096, DataType::bf16), device)) {
      try {
        EXPECT_EQ(check(family_, device, configuration, fixture), "");
        ++built;
      } catch (const DeviceError&) {  // NOLINT(bugprone-empty-catch): refused, as it may be
      }
    }
  }
  EXPECT_GT(built, 0);
}

TEST_F(Vendor, OneKernelServesOtherM) {
  const Device device = Device::cuda(0);
  const Problem built_for = Problem::linear(64, 1024, 512, DataType::bf16);
  const auto kernel =
      family_.build(built_for, device, family_.configurations(built_for, device).front());
  int served = 0;
  for (const std::int64_t m : {1, 33, 64, 200}) {
    const Problem problem = Problem::linear(m, 1024, 512, DataType::bf16);
    if (!kernel->serves(problem)) continue;
    ++served;
    DeviceMemory memory;
    Fixture fixture({"other M", problem, Fill::normal, false}, memory);
    const auto workspace = make_workspace(memory, kernel->workspace_bytes(problem));
    kernel->run(problem, fixture.operands(), workspace.data, memory.stream());
    EXPECT_EQ(fixture.compare(), "") << m;
  }
  EXPECT_GE(served, 1);
}

// Usual algorithms read a bias by 16 bytes, and a problem promises its type's alignment only.
TEST_F(Vendor, OneKernelTakesABiasOfAnyAlignment) {
  const Device device = Device::cuda(0);
  Problem given = Problem::linear(96, 768, 512, DataType::bf16);
  given.bias = Bias::per_column;
  given.bias_type = DataType::bf16;
  const Problem problem = canonical(given).problem;
  for (const auto& configuration : family_.configurations(problem, device)) {
    const auto kernel = family_.build(problem, device, configuration);
    DeviceMemory memory;
    Fixture fixture({"bias", problem, Fill::normal, false}, memory);
    const auto workspace = make_workspace(memory, kernel->workspace_bytes(problem));
    std::vector<std::byte> bias(problem.n * size_bytes(problem.bias_type));
    memory.download(bias.data(), fixture.operands().bias, bias.size());
    void* const block = memory.allocate(bias.size() + 16);
    for (const int offset : {0, 2, 8}) {
      Operands operands = fixture.operands();
      void* const at = static_cast<std::byte*>(block) + offset;
      memory.upload(at, bias.data(), bias.size());
      operands.bias = at;
      fixture.reset();
      kernel->run(problem, operands, workspace.data, memory.stream());
      EXPECT_EQ(fixture.compare(), "")
          << family_.configuration_name(configuration) << ", at " << offset << " bytes";
    }
  }
}

}  // namespace
}  // namespace gemwright::test
