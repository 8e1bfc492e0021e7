#include "model/hopper_cost.hpp"

#include <gemwright/device.hpp>

#include <vector>

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

Estimate hopper_time(const HopperProduct& product, const HopperSetting& setting) {
  Estimate estimate;
  hopper_times(h200(), product, {&setting, 1}, {&estimate, 1});
  return estimate;
}

struct Measured {
  HopperProduct product;
  HopperSetting setting;
  double us;
};

// Medians of an H200, bf16, cold weights. Those at 512 rows and more depend on the card's power.
const Measured kMeasured[] = {
    // Of a lone tile only the rows that are there are copied.
    {{.m = 4096, .n = 1, .k = 4096},
     {.tile_m = 64, .tile_n = 16, .stages = 12, .consumers = 1},
     10.6},
    {{.m = 4096, .n = 16, .k = 4096},
     {.tile_m = 64, .tile_n = 16, .stages = 12, .consumers = 1},
     10.6},
    // A stage's round over the stages bounds where few SMs work.
    {{.m = 1024, .n = 64, .k = 4096},
     {.tile_m = 64, .tile_n = 64, .stages = 12, .consumers = 1},
     9.19},
    {{.m = 1024, .n = 64, .k = 4096},
     {.tile_m = 64, .tile_n = 64, .stages = 12, .split = 4, .consumers = 1},
     5.38},
    {{.m = 512, .n = 4096, .k = 4096}, {.stages = 6}, 30.86},
    {{.m = 2048, .n = 4096, .k = 4096}, {.stages = 6, .cluster_m = 2}, 106.9},
};

TEST(HopperCost, IsNearWhatWasMeasured) {
  for (const auto& [product, setting, us] : kMeasured) {
    EXPECT_NEAR(hopper_time(product, setting).us / us, 1, 0.13)
        << product.m << " " << product.n << " " << setting.tile_m << " " << setting.tile_n;
  }
}

TEST(HopperCost, SaysWhatBounds) {
  EXPECT_EQ(hopper_time({.m = 8192, .n = 8192, .k = 8192}, {.tile_n = 256}).bound, Bound::math);
  EXPECT_EQ(hopper_time({.m = 28672, .n = 64, .k = 4096}, {.tile_n = 64, .stages = 8}).bound,
            Bound::memory);
  EXPECT_EQ(hopper_time({.m = 1280, .n = 1792, .k = 16384}, {}).bound, Bound::waves);  // 140 tiles
}

TEST(HopperCost, IsFiniteForSizesOfZero) {
  for (const std::int64_t k : {0, 1}) {
    EXPECT_GT(hopper_time({.m = 1, .n = 1, .k = k}, {}).us, 0);
    EXPECT_LT(hopper_time({.m = 1, .n = 1, .k = k}, {}).us, 10);
  }
}

TEST(HopperCost, ASettingCostsTheSameWhereverItIsInTheList) {
  std::vector<HopperSetting> settings;
  for (const Measured& measured : kMeasured) settings.push_back(measured.setting);
  settings.push_back({.stream_k = true});
  std::vector<Estimate> estimates(settings.size());
  const HopperProduct product{.m = 1280, .n = 1792, .k = 4096};
  hopper_times(h200(), product, settings, estimates);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Estimate alone = hopper_time(product, settings[i]);
    EXPECT_EQ(estimates[i].us, alone.us) << i;
    EXPECT_EQ(estimates[i].bound, alone.bound) << i;
  }
}

}  // namespace
}  // namespace gemwright::model
