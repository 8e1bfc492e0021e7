// Every CUDA family on every case, with configurations spread over its list.
#include "compile/compiler.hpp"
#include "families/cuda_family.hpp"
#include "gpu/device_memory.hpp"
#include "support/build_ahead.hpp"
#include "support/cases.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace gemwright::test {
namespace {

// All of the type; f32 also with inputs that may be rounded to tf32, which other kernels take.
std::vector<Case> cases_of(DataType type) {
  std::vector<Case> cases = all_cases(type);
  for (Case& low_bit : low_bit_cases(type)) cases.push_back(std::move(low_bit));
  for (Case& rounded : rounded_cases(type)) {
    rounded.fp8_sums = rounded.problem.activations == Activations::e4m3;
    cases.push_back(std::move(rounded));
  }
  if (type != DataType::f32) return cases;
  for (Case rounded : all_cases(type)) {
    rounded.name += " tf32";
    rounded.problem.allow_tf32 = true;
    cases.push_back(std::move(rounded));
  }
  return cases;
}

struct Check {
  Case description;
  std::vector<Configuration> configurations;
};

class GpuConformance : public GpuTest, public testing::WithParamInterface<Subject> {
 protected:
  // Another part of the list of configurations for each case: all are met over the whole suite.
  // Every `stride`th case.
  std::vector<Check> checks(std::size_t per_case, std::size_t stride) {
    const auto [family, type] = GetParam();
    std::vector<Check> list;
    std::size_t turn = 0;
    const auto cases = cases_of(type);
    for (std::size_t at = 0; at < cases.size(); at += stride) {
      const Case& description = cases[at];
      const Problem problem = canonical(description.problem).problem;
      if (problem.m == 0 || problem.n == 0 || problem.batch == 0) continue;
      if (auto reason = family->refuse(problem, device_)) {
        if (refusal_.empty()) refusal_ = *reason;
        continue;
      }
      const auto configurations = family->configurations(problem, device_);
      EXPECT_FALSE(configurations.empty() && !family->vendor()) << key(problem);
      const std::size_t count = std::min(per_case, configurations.size());
      list.push_back({description, {}});
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t which = (turn++ * 7 + i) % configurations.size();
        list.back().configurations.push_back(configurations[which]);
      }
    }
    return list;
  }

  // Into the cache, on all cores: one after the other takes minutes.
  void compile_all(const std::vector<Check>& list) {
    const auto* family = dynamic_cast<const CudaFamily*>(GetParam().family);
    if (family == nullptr) return;
    std::vector<compile::Source> sources;
    for (const Check& one : list) {
      const Problem problem = canonical(one.description.problem).problem;
      for (const Configuration& configuration : one.configurations) {
        for (auto& source : family->sources(problem, device_, configuration)) {
          sources.push_back(std::move(source));
        }
      }
    }
    build_ahead(sources);
  }

  void run(std::size_t per_case, std::size_t stride = 1) {
    const auto list = checks(per_case, stride);
    if (list.empty()) {
      GTEST_SKIP() << GetParam().family->name() << " takes no such problem: " << refusal_;
    }
    compile_all(list);
    DeviceMemory memory;
    int faults = 0;
    int checked = 0;
    for (const auto& [description, configurations] : list) {
      memory.clear();
      Fixture fixture(description, memory);
      for (const Configuration& configuration : configurations) {
        const std::string fault = fault_of(configuration, fixture);
        EXPECT_EQ(fault, "");
        if (!fault.empty() && ++faults == 10) FAIL() << "and more";
        ++checked;
      }
    }
    RecordProperty("checks", checked);
  }

  std::string fault_of(const Configuration& configuration, Fixture& fixture) const {
    const Family& family = *GetParam().family;
    try {
      return check(family, device_, configuration, fixture);
    } catch (const Error& error) {
      return fixture.name() + ", " + family.configuration_name(configuration) + ": " + error.what();
    }
  }

  Device device_ = Device::parse("h200");  // replaced where there is a device
  std::string refusal_;

  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) device_ = Device::cuda(0);
  }
};

TEST_P(GpuConformance, EveryCase) {
  run(2);
}

// What scripts/gpu_sanitize.sh runs, where everything is a hundred times slower.
TEST_P(GpuConformance, Reduced) {
  run(1, 11);
}

TEST_P(GpuConformance, LongEveryCase) {
  run(8);
}

INSTANTIATE_TEST_SUITE_P(Families, GpuConformance, testing::ValuesIn(subjects(DeviceKind::cuda)),
                         [](const auto& subject) { return name_of(subject.param); });

}  // namespace
}  // namespace gemwright::test
