#include "model/hopper_cost.hpp"

#include <gemwright/device.hpp>

#include <gtest/gtest.h>

namespace gemwright::model {
namespace {

CudaProfile h200() {
  CudaProfile profile;
  profile.sm = 90;
  profile.multiprocessors = 132;
  profile.clock_ghz = 1.83;
  profile.memory_bytes_per_s = 4.55e12;
  profile.l2_bytes = 60 << 20;
  profile.f16_flops = 989e12;
  profile.tf32_flops = 494e12;
  profile.launch_s = 0.6e-6;
  return profile;
}

struct Measured {
  HopperWork work;
  double us;
};

// Medians of an H200, bf16, cold weights. Those at 512 rows and more depend on the card's power.
TEST(HopperCost, IsNearWhatWasMeasured) {
  const Measured cases[] = {
      // Of a lone tile only the rows that are there are copied.
      {{.m = 4096, .n = 1, .k = 4096, .tile_m = 64, .tile_n = 16, .stages = 12, .consumers = 1},
       10.6},
      {{.m = 4096, .n = 16, .k = 4096, .tile_m = 64, .tile_n = 16, .stages = 12, .consumers = 1},
       10.6},
      // A stage's round over the stages bounds where few SMs work.
      {{.m = 1024, .n = 64, .k = 4096, .tile_m = 64, .tile_n = 64, .stages = 12, .consumers = 1},
       9.19},
      {{.m = 1024,
        .n = 64,
        .k = 4096,
        .tile_m = 64,
        .tile_n = 64,
        .stages = 12,
        .split = 4,
        .consumers = 1},
       5.38},
      {{.m = 512, .n = 4096, .k = 4096, .tile_m = 128, .tile_n = 128, .stages = 6}, 30.86},
      {{.m = 2048, .n = 4096, .k = 4096, .tile_m = 128, .tile_n = 128, .stages = 6, .cluster_m = 2},
       106.9},
  };
  for (const auto& [work, us] : cases) {
    EXPECT_NEAR(hopper_cost(work, h200()).us / us, 1, 0.13)
        << work.m << " " << work.n << " " << work.tile_m << " " << work.tile_n;
  }
}

TEST(HopperCost, SaysWhatBounds) {
  HopperWork large{.m = 8192, .n = 8192, .k = 8192, .tile_n = 256};
  EXPECT_EQ(hopper_cost(large, h200()).bound, Bound::math);
  HopperWork weights{.m = 28672, .n = 64, .k = 4096, .tile_n = 64, .stages = 8};
  EXPECT_EQ(hopper_cost(weights, h200()).bound, Bound::memory);
  HopperWork tail{.m = 1280, .n = 1792, .k = 16384};  // 140 tiles
  EXPECT_EQ(hopper_cost(tail, h200()).bound, Bound::waves);
}

TEST(HopperCost, IsFiniteForSizesOfZero) {
  for (const std::int64_t k : {0, 1}) {
    EXPECT_GT(hopper_cost({.m = 1, .n = 1, .k = k}, h200()).us, 0);
    EXPECT_LT(hopper_cost({.m = 1, .n = 1, .k = k}, h200()).us, 10);
  }
}

}  // namespace
}  // namespace gemwright::model
