// The Hopper family without a GPU: what it takes, what it lists, and that all of it compiles.
#include "compile/compiler.hpp"
#include "device/profile.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_hopper/setting.hpp"
#include <gemwright/errors.hpp>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

using cuda_hopper::Setting;

const CudaFamily& family() {
  return dynamic_cast<const CudaFamily&>(*families::find("cuda_hopper"));
}

Device h200() {
  return Device::parse("h200");
}

std::string refusal(const Problem& problem) {
  return family().refuse(canonical(problem).problem, h200()).value_or("");
}

TEST(CudaHopper, RefusesWithReasons) {
  Problem p = Problem::linear(256, 512, 512, DataType::bf16);
  EXPECT_EQ(refusal(p), "");
  EXPECT_NE(family().refuse(p, Device::parse("a100")).value_or("").find("sm_80"),
            std::string::npos);

  Problem pitch = p;
  pitch.b.col_stride = 516;
  EXPECT_NE(refusal(pitch).find("pitch of B is 1032"), std::string::npos);
  Problem aligned = p;
  aligned.a.alignment = 2;
  EXPECT_NE(refusal(aligned).find("aligned to 2"), std::string::npos);
  Problem strided = p;
  strided.a.row_stride = 1024;
  strided.a.col_stride = 2;
  EXPECT_NE(refusal(strided).find("contiguous"), std::string::npos);

  Problem full = Problem::linear(256, 512, 512, DataType::f32);
  EXPECT_NE(refusal(full).find("allow_tf32"), std::string::npos);
  full.allow_tf32 = true;
  EXPECT_EQ(refusal(full), "");
  Problem m_major = Problem::mm(256, 512, 512, DataType::f32);
  m_major.allow_tf32 = true;
  EXPECT_NE(refusal(m_major).find("along K"), std::string::npos);
}

TEST(CudaHopper, TakesWhatHasNoPitch) {
  // One row of A: its stride means nothing, and 511 elements would be no multiple of 16 bytes.
  Problem p = Problem::linear(1, 512, 512, DataType::bf16);
  p.a.row_stride = 511;
  EXPECT_EQ(refusal(p), "");
  Problem broadcast = Problem::bmm(4, 256, 512, 512, DataType::f16);
  broadcast.a.batch_stride = 0;
  EXPECT_EQ(refusal(broadcast), "");
}

TEST(CudaHopper, SettingsAreNamedAndFit) {
  const Device device = h200();
  for (const std::int64_t m : {1, 65, 128, 512, 4096}) {
    const Problem p = canonical(Problem::linear(m, 4096, 4096, DataType::bf16)).problem;
    std::set<std::string> names;
    const auto list = family().configurations(p, device);
    ASSERT_FALSE(list.empty()) << m;
    EXPECT_LT(list.size(), 400U) << m;
    for (const Configuration& configuration : list) {
      const Setting s = cuda_hopper::setting_of(configuration);
      EXPECT_EQ(cuda_hopper::configuration_of(s), configuration);
      EXPECT_TRUE(names.insert(family().configuration_name(configuration)).second)
          << family().configuration_name(configuration);
      EXPECT_LE(cuda_hopper::shared_bytes(s, cuda_hopper::view_of(p, s.swap)),
                static_cast<int>(device.profile().cuda.shared_per_block));
    }
  }
}

// What makes the code of one kernel very different from another's. (tests/gpu builds the others.)
auto form(const Setting& s) {
  const bool usual = s.split == 1 && !s.stream_k;
  return usual ? std::tuple(s.tile_m, s.tile_n, s.ping_pong, 1, false)
               : std::tuple(s.tile_m, 0, false, s.split, s.stream_k);
}

// Every form of the list for a problem, once.
void add_forms(const Problem& given, std::map<std::string, compile::Source>& sources) {
  const Device device = h200();
  const Problem p = canonical(given).problem;
  std::set<decltype(form(Setting{}))> seen;
  for (const Configuration& configuration : family().configurations(p, device)) {
    if (cuda_hopper::setting_of(configuration).swap) continue;
    if (!seen.insert(form(cuda_hopper::setting_of(configuration))).second) continue;
    compile::Source source = family().source(p, device, configuration);
    sources.emplace(source.preamble, std::move(source));
  }
}

// One tile of each kind for the rarer types, layouts and epilogues.
void add_some(const Problem& given, std::map<std::string, compile::Source>& sources) {
  const Device device = h200();
  const Problem p = canonical(given).problem;
  for (const Configuration& configuration : family().configurations(p, device)) {
    const Setting s = cuda_hopper::setting_of(configuration);
    const bool picked = (s.tile_m == 128 && s.tile_n == 256 && s.cluster_m == 2) ||
                        (s.tile_m == 128 && s.tile_n == 192 && s.cluster() == 1 && s.ping_pong);
    if (!picked || s.stream_k || s.split > 1 || s.swap) continue;
    compile::Source source = family().source(p, device, configuration);
    sources.emplace(source.preamble, std::move(source));
  }
}

std::string fault(const compile::Source& source) {
  try {
    const auto report = compile::compile(source).report;
    if (report.spill_bytes > 0) return "spills:\n" + source.preamble;
    if (report.log.find("C75") != std::string::npos) return report.log + source.preamble;
    return "";
  } catch (const Error& error) {
    return error.what() + source.preamble;
  }
}

TEST(CudaHopper, CompilesWithoutSpillsOrWarnings) {
  std::map<std::string, compile::Source> sources;
  add_forms(Problem::linear(384, 4096, 4096, DataType::bf16), sources);
  add_some(Problem::linear(2048, 4096, 4096, DataType::f16), sources);
  add_some(Problem::mm(2048, 4096, 4096, DataType::bf16), sources);
  Problem tf32 = Problem::linear(2048, 4096, 4096, DataType::f32);
  tf32.allow_tf32 = true;
  add_some(tf32, sources);
  Problem direct = Problem::linear(2048, 4095, 4096, DataType::bf16);
  add_some(direct, sources);
  Problem full = Problem::linear(2048, 4096, 4096, DataType::bf16);
  full.beta = 1;
  full.c = full.d;
  full.bias = Bias::per_column;
  full.bias_type = DataType::bf16;
  add_some(full, sources);

  std::vector<const compile::Source*> all;
  for (const auto& [preamble, source] : sources) all.push_back(&source);
  ASSERT_GT(all.size(), 30U);
  std::vector<std::string> faults(all.size());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back([&] {
        for (std::size_t j = next++; j < all.size(); j = next++) faults[j] = fault(*all[j]);
      });
    }
  }
  if (faults[0].find("libnvrtc") != std::string::npos) GTEST_SKIP() << faults[0];
  for (const std::string& one : faults) EXPECT_EQ(one, "");
}

}  // namespace
}  // namespace gemwright
