// What every CUDA family lists for every architecture.
#include "device/profile.hpp"
#include "families/cuda_family.hpp"
#include "support/weight_formats.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::test {
namespace {

struct Subject {
  const CudaFamily* family;
  std::string device;
};

std::string name_of(const Subject& subject) {
  std::string text = std::string(subject.family->name()) + "_" + subject.device;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::vector<Subject> subjects() {
  std::vector<Subject> result;
  for (const Family* family : families::all()) {
    const auto* compiled = dynamic_cast<const CudaFamily*>(family);
    if (compiled == nullptr) continue;
    for (const char* device : {"a100-40gb", "a10g", "l40s", "h200"}) {
      result.push_back({compiled, device});
    }
  }
  return result;
}

// All majors, alignments and types; large, so that every tile is listed, and small, for the
// kernels of few rows.
std::vector<Problem> problems() {
  std::vector<Problem> result;
  for (const std::int64_t m : {1, 16, 64, 4096}) {
    for (const DataType type : {DataType::bf16, DataType::f16, DataType::f32}) {
      result.push_back(Problem::linear(m, 4096, 4096, type));
      result.push_back(Problem::mm(m, 4096, 4096, type));
      result.back().allow_tf32 = type == DataType::f32;
    }
    Problem odd = Problem::mm(m, 4095, 4097, DataType::bf16);
    odd.a.alignment = odd.b.alignment = odd.d.alignment = 2;
    result.push_back(odd);
    Problem transposed = Problem::linear(m, 4096, 4096, DataType::bf16);
    transposed.a = {.type = DataType::bf16, .row_stride = 1, .col_stride = m};
    transposed.c = transposed.d;
    transposed.beta = 1;
    transposed.bias = Bias::per_column;
    result.push_back(canonical(transposed).problem);
    for (const std::string_view format : kManyFormats) {
      const DataType type = result.size() % 2 == 0 ? DataType::bf16 : DataType::f16;
      const auto layer = Problem::linear(m, 4096, 4096, type, parse_weight_format(format));
      result.push_back(canonical(layer).problem);
    }
  }
  return result;
}

class CudaConfigurations : public testing::TestWithParam<Subject> {};

TEST_P(CudaConfigurations, AreNamedOnceAndSurviveJson) {
  const auto& [family, slug] = GetParam();
  const Device device = Device::parse(slug);
  for (const Problem& problem : problems()) {
    if (family->refuse(problem, device)) continue;
    const auto list = family->configurations(problem, device);
    EXPECT_FALSE(list.empty()) << key(problem);
    std::vector<Estimate> estimates(list.size());
    family->estimate(problem, device, list, estimates);
    std::set<std::string> names;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string name = family->configuration_name(list[i]);
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(families::from_json(*family, families::to_json(*family, list[i])), list[i]);
      EXPECT_GT(estimates[i].us, 0) << name;
      EXPECT_LT(estimates[i].us, 1e7) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, CudaConfigurations, testing::ValuesIn(subjects()),
                         [](const auto& subject) { return name_of(subject.param); });

}  // namespace
}  // namespace gemwright::test
