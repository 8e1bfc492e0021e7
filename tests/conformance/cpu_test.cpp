// Every CPU family on every case, with configurations spread over its list.
#include "support/cases.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::test {
namespace {

class CpuConformance : public testing::TestWithParam<Subject> {};

TEST_P(CpuConformance, EveryCase) {
  const auto [family, type] = GetParam();
  const Device device = Device::cpu();
#if defined(GEMWRIGHT_SANITIZED)
  constexpr std::size_t kConfigurationsPerCase = 1;
  constexpr std::int64_t kMostProducts = 1 << 18;  // more of them find nothing new, in minutes
#else
  constexpr std::size_t kConfigurationsPerCase = 6;
  constexpr std::int64_t kMostProducts = std::int64_t{1} << 62;
#endif
  std::size_t checked = 0;
  std::size_t turn = 0;
  std::string refusal;
  std::vector<Case> cases = all_cases(type);
  for (const auto& more : {low_bit_cases(type), rounded_cases(type)}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  for (const Case& description : cases) {
    const Problem problem = canonical(description.problem).problem;
    if (problem.batch * problem.m * problem.n * problem.k > kMostProducts) continue;
    if (const auto reason = family->refuse(problem, device)) {
      if (refusal.empty()) refusal = *reason;
      continue;
    }
    const auto configurations = family->configurations(problem, device);
    ASSERT_FALSE(configurations.empty()) << key(problem);
    // Another part of the list for each case: all are met over the whole suite.
    const std::size_t count = std::min(kConfigurationsPerCase, configurations.size());
    const auto memory = host_memory();
    Fixture fixture(description, *memory);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& configuration = configurations[(turn++ * 7 + i) % configurations.size()];
      ASSERT_EQ(check(*family, device, configuration, fixture), "");
      ++checked;
    }
  }
  if (checked == 0) GTEST_SKIP() << family->name() << " takes no such problem: " << refusal;
}

INSTANTIATE_TEST_SUITE_P(Families, CpuConformance, testing::ValuesIn(subjects(DeviceKind::cpu)),
                         [](const auto& subject) { return name_of(subject.param); });

}  // namespace
}  // namespace gemwright::test
