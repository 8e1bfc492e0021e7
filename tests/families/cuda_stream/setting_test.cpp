// How cuda_stream divides weights among CTAs, and what it refuses; no GPU needed.
#include "families/cuda_stream/setting.hpp"

#include "families/family.hpp"
#include <gemwright/gemwright.hpp>

#include <string>

#include <gtest/gtest.h>

namespace gemwright::cuda_stream {
namespace {

TEST(RingPlan, CoversEveryRowOnceInEqualShares) {
  constexpr int kSlots = 132;
  for (const int rows : {64, 128, 256}) {
    for (const int split : {1, 2, 4}) {
      for (const std::int64_t n : {1, 7, 63, 64, 65, 1000, 4096, 28672, 151669}) {
        for (const std::int64_t batch : {1, 3, 200}) {
          Problem problem = Problem::linear(8, n, 4096, DataType::bf16);
          problem.batch = batch;
          const Setting setting{
              .path = Path::ring, .rows = rows, .unroll = 2, .ring_kb = 200, .split = split};
          const RingPlan plan = plan_ring(setting, problem, kSlots);
          const std::string what = name_of(setting) + " n=" + std::to_string(n);
          if (plan.rows == 0) {
            // Only where one pass is too little for a tile of its own to each.
            EXPECT_TRUE(batch * split > kSlots || n * batch * split > kSlots * 8) << what;
            continue;
          }
          EXPECT_LE(plan.rows, rows) << what;
          EXPECT_GE(std::int64_t{plan.rows} * plan.tiles, n) << what;
          EXPECT_LT(std::int64_t{plan.rows} * (plan.tiles - 1), n) << what;
          EXPECT_LE(plan.grid, kSlots) << what;
          EXPECT_EQ(plan.grid % split, 0) << what;
          if (split > 1) {
            EXPECT_EQ(plan.grid, plan.tiles * batch * split) << what;
          }
          EXPECT_GE(plan.stages, 2) << what;
        }
      }
    }
  }
}

TEST(RingPlan, FillsTheDeviceInOneWave) {
  // 132 places: 217.2 rows each, where tiles of 64 would leave 60 of 132 idle in the last wave.
  const Setting setting{.path = Path::ring, .rows = 256, .unroll = 1, .ring_kb = 200};
  const Problem problem = Problem::linear(8, 28672, 4096, DataType::bf16);
  const RingPlan plan = plan_ring(setting, problem, 132);
  EXPECT_EQ(plan.rows, 218);
  EXPECT_EQ(plan.grid, 132);
}

TEST(StreamSetting, SurvivesConfiguration) {
  const Setting setting{.path = Path::ring,
                        .rows = 128,
                        .cols = 24,
                        .warps = 3,
                        .unroll = 2,
                        .ring_kb = 96,
                        .split = 4,
                        .ctas = 2,
                        .swap = true};
  EXPECT_EQ(name_of(setting_of(configuration_of(setting))), "stream_ring_128x24_b2_r96_k4_c2_t");
}

TEST(StreamFamily, RefusesWithAReason) {
  const Family& family = *families::find("cuda_stream");
  const Device device = Device::parse("h200");
  const auto reason = [&](const Problem& problem) {
    return family.refuse(canonical(problem).problem, device).value_or("");
  };
  Problem problem = Problem::linear(65, 4096, 4096, DataType::bf16);
  EXPECT_NE(reason(problem).find("at most 64 rows"), std::string::npos) << reason(problem);
  problem.m = 16;
  EXPECT_EQ(reason(problem), "");
  problem.b.col_stride = 4100;
  EXPECT_NE(reason(problem).find("pitch of the weights"), std::string::npos) << reason(problem);
  EXPECT_NE(reason(Problem::linear(16, 4096, 4096, DataType::f32)).find("allow_tf32"),
            std::string::npos);
}

}  // namespace
}  // namespace gemwright::cuda_stream
