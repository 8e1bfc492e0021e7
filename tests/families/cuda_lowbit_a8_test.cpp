// Low-bit weights with activations in e4m3 on sm_90, as far as no GPU is needed.
#include "device/profile.hpp"
#include "families/cuda_lowbit/a8_setting.hpp"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

const Family& family() {
  return *families::find("cuda_lowbit_a8");
}

Device h200() {
  return Device::parse("h200");
}

Problem layer(std::int64_t m, std::string_view format, Activations to = Activations::e4m3) {
  Problem p = Problem::linear(m, 4096, 4096, DataType::bf16, parse_weight_format(format));
  p.activations = to;
  return canonical(p).problem;
}

std::string refusal(const Problem& problem) {
  return family().refuse(problem, h200()).value_or("");
}

TEST(CudaLowbitA8, TakesWhatE4m3HoldsExactly) {
  for (const std::string_view format :
       {"int4", "int4z", "int3z", "int2", "mxfp4", "e2m1:g32:e4m3*f32", "fp8", "fp8-block", "mxfp8",
        "int4z:g128:f16:order", "int4:tensor:f32", "int4:flat64:f32"}) {
    EXPECT_EQ(refusal(layer(16, format)), "") << format;
  }
}

TEST(CudaLowbitA8, SaysWhatElseToDo) {
  for (const std::string_view format :
       {"nf4", "fp4", "lut4", "rowlut4:g64:bf16", "int8", "e5m2:g32:e8m0", "int4r:g64:f16", "nvfp4",
        "int4:g16:f16"}) {
    const std::string reason = refusal(layer(16, format));
    EXPECT_NE(reason.find("take activations as given"), reason.npos) << format;
  }
  EXPECT_NE(refusal(layer(16, "int4", Activations::as_given)), "");
  EXPECT_NE(refusal(layer(16, "int4", Activations::int8)), "");
  EXPECT_NE(family().refuse(layer(16, "int4"), Device::parse("l40s")).value_or("").find("sm_90"),
            std::string::npos);
}

TEST(CudaLowbitA8, EveryNumberOfRowsHasUniqueSettingsThatFit) {
  for (const std::string_view format : {"int4", "mxfp4", "fp8", "int3z:g32:f32"}) {
    for (std::int64_t m = 1; m <= 600; ++m) {
      const Problem problem = layer(m, format);
      const auto list = family().configurations(problem, h200());
      EXPECT_FALSE(list.empty()) << format << " " << m;
      std::set<std::string> names;
      for (const Configuration& configuration : list) {
        EXPECT_TRUE(names.insert(family().configuration_name(configuration)).second);
        const auto setting = cuda_lowbit::a8_setting_of(configuration);
        EXPECT_EQ(cuda_lowbit::configuration_of(setting), configuration);
        EXPECT_LE(static_cast<std::size_t>(cuda_lowbit::shared_bytes(setting, problem)),
                  h200().profile().cuda.shared_per_block);
      }
    }
  }
}

TEST(CudaLowbitA8, CodesStandInWholeWindowsAfterTheCounters) {
  const auto place = cuda_lowbit::workspace_of(layer(3, "int4"));
  EXPECT_EQ(place.pitch, 4096U);
  EXPECT_EQ(place.codes, 65536U);
  EXPECT_EQ(place.scales, place.codes + 3U * 4096);
  Problem odd = layer(3, "int4");
  odd.k = 129;
  EXPECT_EQ(cuda_lowbit::workspace_of(odd).pitch, 256U);
  odd.k = 0;
  EXPECT_EQ(cuda_lowbit::workspace_of(odd).pitch, 128U);
}

}  // namespace
}  // namespace gemwright
