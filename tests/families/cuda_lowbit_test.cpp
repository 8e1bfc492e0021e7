// The low-bit family without a GPU: what it takes, and what it lists.
#include "device/profile.hpp"
#include "families/cuda_family.hpp"
#include "families/cuda_lowbit/setting.hpp"
#include "families/cuda_lowbit/wide_setting.hpp"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

const CudaFamily& family() {
  return dynamic_cast<const CudaFamily&>(*families::find("cuda_lowbit"));
}

Device h200() {
  return Device::parse("h200");
}

Problem layer(std::int64_t m, std::string_view format, std::int64_t k = 4096) {
  return canonical(Problem::linear(m, 4096, k, DataType::bf16, parse_weight_format(format)))
      .problem;
}

std::string refusal(const Problem& problem) {
  return family().refuse(problem, h200()).value_or("");
}

TEST(CudaLowbit, RefusesWithReasons) {
  EXPECT_EQ(refusal(layer(1, "nf4")), "");
  EXPECT_EQ(refusal(layer(1, "nf4:flat64:f32")), "");
  EXPECT_NE(refusal(layer(1, "nf4:flat64:f32", 100)).find("across rows"), std::string::npos);
  EXPECT_EQ(refusal(layer(1, "rowlut4:g64:bf16")), "");
  EXPECT_EQ(refusal(layer(1, "int4r:g64:bf16")), "");
  EXPECT_NE(refusal(Problem::linear(4, 64, 64, DataType::bf16)).find("not a low-bit"),
            std::string::npos);
  Problem exact = layer(1, "nf4");
  exact.b.type = DataType::f32;
  EXPECT_NE(refusal(exact).find("codebook"), std::string::npos);
  EXPECT_NE(family().refuse(layer(1, "nf4"), Device::parse("a100")).value_or("").find("sm_80"),
            std::string::npos);
}

TEST(CudaLowbit, ListsUniqueSettingsThatFit) {
  for (const std::string_view format : {"nf4", "nvfp4", "int4z:g16:f32"}) {
    for (const std::int64_t m : {1, 16, 64}) {
      const Problem problem = layer(m, format);
      const auto list = family().configurations(problem, h200());
      EXPECT_GE(list.size(), 2U) << format << m;
      std::set<std::string> names;
      for (const Configuration& configuration : list) {
        EXPECT_TRUE(names.insert(family().configuration_name(configuration)).second);
        const auto setting = cuda_lowbit::setting_of(configuration);
        EXPECT_EQ(cuda_lowbit::configuration_of(setting), configuration);
        EXPECT_LE(setting.threads() * setting.ctas, 2048);
      }
    }
  }
}

// Of `wgmma`, whatever the rows of A: widths of tiles are chosen among few.
TEST(CudaLowbit, EveryNumberOfRowsHasTiles) {
  const Family& wide = *families::find("cuda_lowbit_wide");
  for (const std::string_view format : {"nf4", "int4z", "mxfp4", "fp8", "rowlut4:g64:bf16"}) {
    for (std::int64_t m = 1; m <= 600; ++m) {
      EXPECT_FALSE(wide.configurations(layer(m, format), h200()).empty()) << format << " " << m;
    }
  }
}

TEST(CudaLowbit, WideSettingsAreUniqueAndFit) {
  const Family& wide = *families::find("cuda_lowbit_wide");
  for (const std::string_view format : {"nf4", "int4", "int4z:g16:f32", "mxfp4", "int8:row:f16"}) {
    for (const std::int64_t m : {1, 16, 48, 64, 128, 4096}) {
      const Problem problem = layer(m, format);
      std::set<std::string> names;
      for (const Configuration& configuration : wide.configurations(problem, h200())) {
        const auto setting = cuda_lowbit::wide_setting_of(configuration);
        EXPECT_TRUE(names.insert(wide.configuration_name(configuration)).second);
        EXPECT_EQ(cuda_lowbit::configuration_of(setting), configuration);
        EXPECT_LE(cuda_lowbit::shared_bytes(setting, problem), 227 << 10);
        EXPECT_TRUE(setting.part == 0 || setting.cols % setting.part == 0);
        // Of consumers that share K each has some.
        EXPECT_LE(setting.stage_columns() * setting.split, problem.k);
      }
    }
  }
}

TEST(CudaLowbit, SharesCoverTheWeightOnce) {
  for (const std::int64_t n : {1, 16, 1000, 57344}) {
    const Problem problem =
        canonical(Problem::linear(4, n, 1024, DataType::bf16, parse_weight_format("nf4"))).problem;
    for (const Configuration& configuration : family().configurations(problem, h200())) {
      const auto setting = cuda_lowbit::setting_of(configuration);
      const auto dealt =
          cuda_lowbit::deal(setting, problem, h200().profile().cuda,
                            cuda_lowbit::resident_clusters(setting, h200().profile().cuda));
      EXPECT_GE(dealt.clusters * dealt.share, dealt.tiles);
      EXPECT_LT((dealt.clusters - 1) * dealt.share, dealt.tiles);
      EXPECT_GE(dealt.passes * setting.warps_n * setting.tiles, dealt.share);
    }
  }
}

}  // namespace
}  // namespace gemwright
