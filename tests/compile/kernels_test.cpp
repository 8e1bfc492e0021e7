// Every configuration of every CUDA family compiles for every architecture it is listed for,
// without spills, stack frames or remarks of ptxas. Needs NVRTC, no GPU. Three extents: a sample,
// every configuration with every type (Long), and all variants of all of them (Exhaustive).
#include "compile/compiler.hpp"
#include "compile/nvrtc.hpp"
#include "families/cuda_family.hpp"
#include "support/weight_formats.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::compile {
namespace {

constexpr const char* kDevices[] = {"a100-80gb", "a10g", "l40s", "h200"};

constexpr std::int64_t kRows[] = {1, 4, 8, 16, 32, 64, 128, 512, 4096};

void add_low_bit(std::vector<Problem>& list) {
  for (const std::string_view format : kManyFormats) {
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
      for (const std::int64_t m : kRows) {
        for (const Activations activations : {Activations::as_given, Activations::e4m3}) {
          Problem p = Problem::linear(m, 4096, 4096, type, parse_weight_format(format));
          p.activations = activations;
          list.push_back(p);
          p.c = p.d;
          p.beta = 0.5F;
          p.bias = Bias::per_column;
          p.bias_type = type;
          list.push_back(p);
        }
      }
    }
  }
}

// Problems that between them call for every variant of a kernel: types, layouts, alignments,
// epilogues, small and large M.
std::vector<Problem> problems() {
  std::vector<Problem> list;
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
    for (const DataType out : {type, DataType::f32}) {
      for (const std::int64_t m : kRows) {
        for (int layout = 0; layout < 4; ++layout) {
          Problem p = Problem::mm(m, 4096, 4096, type);
          if ((layout & 1) != 0) p.a = {.type = type, .row_stride = 1, .col_stride = m};
          if ((layout & 2) != 0) p.b = {.type = type, .row_stride = 1, .col_stride = p.k};
          p.d.type = out;
          p.allow_tf32 = type == DataType::f32 && out == type;
          list.push_back(p);
          p.allow_tf32 = false;
          p.c = p.d;
          p.beta = 0.5F;
          p.bias = Bias::per_column;
          p.bias_type = type;
          list.push_back(p);
          // Nothing that a vector load could take: odd pitches and pointers off by one element.
          p.a.row_stride += p.a.row_stride > 1 ? 1 : 0;
          p.b.col_stride += p.b.col_stride > 1 ? 1 : 0;
          p.a.alignment = p.b.alignment = p.d.alignment = size_bytes(type);
          p.c.reset();
          p.beta = 0;
          list.push_back(p);
        }
      }
    }
  }
  add_low_bit(list);
  return list;
}

struct Named {
  Source source;
  std::string configuration;  // with the type of A
};

// Distinct sources of a family for a device.
std::vector<Named> sources(const CudaFamily& family, const Device& device) {
  std::map<std::string, Named> distinct;
  for (const Problem& given : problems()) {
    const Problem problem = canonical(given).problem;
    if (family.refuse(problem, device)) continue;
    for (const auto& configuration : family.configurations(problem, device)) {
      for (auto& source : family.sources(problem, device, configuration)) {
        auto key = source.file + source.preamble;
        distinct.try_emplace(std::move(key),
                             Named{std::move(source), family.configuration_name(configuration) +
                                                          " " + std::string(name(problem.a.type))});
      }
    }
  }
  std::vector<Named> list;
  for (auto& [key, named] : distinct) list.push_back(std::move(named));
  return list;
}

// Empty when all is well.
std::string fault(const Named& named) {
  try {
    const auto report = compile(named.source).report;
    if (report.spill_bytes > 0) return std::to_string(report.spill_bytes) + " bytes spilled";
    return report.log;
  } catch (const Error& error) {
    return error.what();
  }
}

// Compiles them on all cores.
void expect_clean(const std::vector<const Named*>& list) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < list.size(); i = next++) {
      const Named& named = *list[i];
      const auto what = fault(named);
      const std::lock_guard lock(mutex);
      EXPECT_EQ(what, "") << named.source.file << " " << named.configuration << " for sm_"
                          << named.source.sm << "\n"
                          << named.source.preamble;
    }
  };
  std::vector<std::thread> threads(std::max(1U, std::thread::hardware_concurrency()));
  for (auto& thread : threads) thread = std::thread(work);
  for (auto& thread : threads) thread.join();
}

// `count` of them, spread over the list.
std::vector<const Named*> sample(const std::vector<Named>& list, std::size_t count) {
  std::vector<const Named*> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(&list[i * list.size() / count]);
  return chosen;
}

// One of each configuration and type; its layout, epilogue, alignment and format change from one to
// the next.
std::vector<const Named*> one_of_each(const std::vector<Named>& list) {
  constexpr std::size_t kStride = 7919;  // a prime, so that all variants come up
  std::map<std::string, std::vector<const Named*>> groups;
  for (const Named& named : list) groups[named.configuration].push_back(&named);
  std::vector<const Named*> chosen;
  for (const auto& [configuration, members] : groups) {
    chosen.push_back(members[chosen.size() * kStride % members.size()]);
  }
  return chosen;
}

struct Target {
  const CudaFamily* family;
  std::string device;
};

void PrintTo(const Target& target, std::ostream* out) {
  *out << target.family->name() << " " << target.device;
}

std::vector<Target> targets() {
  std::vector<Target> list;
  for (const Family* family : families::all()) {
    const auto* compiled = dynamic_cast<const CudaFamily*>(family);
    if (compiled == nullptr) continue;
    for (const char* device : kDevices) list.push_back({compiled, device});
  }
  return list;
}

class Kernels : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    std::string why;
    if (nvrtc_version(&why).empty()) GTEST_SKIP() << why;
    // Kept from run to run: what did not change is not compiled again.
    const auto cache = std::filesystem::canonical("/proc/self/exe").parent_path() / "cubin_cache";
    ::setenv("GEMWRIGHT_CACHE", cache.c_str(), 1);
    const auto& [family, device] = GetParam();
    list_ = sources(*family, Device::parse(device));
    if (list_.empty()) {
      const auto reason = family->refuse(problems().front(), Device::parse(device));
      GTEST_SKIP() << family->name() << " takes no such problem on " << device << ": "
                   << reason.value_or("it has no configuration there");
    }
  }

  std::vector<Named> list_;
};

TEST_P(Kernels, ASampleCompilesClean) {
  constexpr std::size_t kSample = 10;  // the long test has them all
  expect_clean(sample(list_, std::min(kSample, list_.size())));
}

TEST_P(Kernels, LongEachConfigurationCompilesClean) {
  expect_clean(one_of_each(list_));
}

TEST_P(Kernels, ExhaustiveAllCompileClean) {
  expect_clean(sample(list_, list_.size()));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Kernels);
INSTANTIATE_TEST_SUITE_P(Families, Kernels, testing::ValuesIn(targets()), [](const auto& target) {
  std::string name = std::string(target.param.family->name()) + "_" + target.param.device;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace gemwright::compile
