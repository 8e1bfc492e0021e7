#include "model/cuda_cost.hpp"

#include <gemwright/device.hpp>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::model {
namespace {

CudaProfile gpu() {
  CudaProfile profile;
  profile.sm = 90;
  profile.multiprocessors = 132;
  profile.clock_ghz = 1.83;
  profile.memory_bytes_per_s = 4.3e12;
  profile.l2_bytes = 60 << 20;
  return profile;
}

TiledProduct product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m, .n = n, .k = k};
}

TiledSetting setting() {
  return {.tile_m = 128,
          .tile_n = 128,
          .tile_k = 64,
          .ctas_per_sm = 2,
          .stages = 4,
          .flops_per_s = 480e12};
}

Estimate tiled_time(const TiledProduct& p, const TiledSetting& s) {
  Estimate estimate;
  tiled_times(gpu(), p, {&s, 1}, {&estimate, 1});
  return estimate;
}

TEST(CudaCost, IsNeverBelowTheRoofline) {
  for (const std::int64_t m : {1, 16, 128, 1000, 8192}) {
    const double memory = 4096.0 * 4096 * 2 / gpu().memory_bytes_per_s;
    const double math = 2.0 * static_cast<double>(m) * 4096 * 4096 / setting().flops_per_s;
    EXPECT_GT(tiled_time(product(m, 4096, 4096), setting()).us, 1e6 * std::max(memory, math)) << m;
  }
}

TEST(CudaCost, SaysWhatBounds) {
  EXPECT_EQ(tiled_time(product(8192, 8192, 8192), setting()).bound, Bound::math);
  TiledSetting narrow = setting();
  narrow.tile_n = 8;
  EXPECT_EQ(tiled_time(product(16384, 8, 8192), narrow).bound, Bound::memory);
  EXPECT_EQ(tiled_time(product(16, 16, 64), setting()).bound, Bound::overhead);
  EXPECT_EQ(tiled_time(product(1280, 1792, 16384), setting()).bound, Bound::waves);  // 140 tiles
}

TEST(CudaCost, SplittingPaysOnlyWhereTheDeviceIsNotFull) {
  TiledSetting split = setting();
  split.splits = 16;
  const TiledProduct deep = product(128, 128, 65536);
  EXPECT_LT(tiled_time(deep, split).us, tiled_time(deep, setting()).us / 4);
  split.splits = 2;
  const TiledProduct full = product(1536, 1408, 4096);  // 132 tiles
  EXPECT_GT(tiled_time(full, split).us, tiled_time(full, setting()).us);
}

TEST(CudaCost, SharedOperandsAreReadOnce) {
  TiledProduct batch = product(64, 8192, 8192);
  batch.batch = 16;
  const double own = tiled_time(batch, setting()).us;
  batch.shared_b = true;
  EXPECT_LT(tiled_time(batch, setting()).us, own);
}

TEST(CudaCost, ASettingCostsTheSameWhereverItIsInTheList) {
  std::vector<TiledSetting> settings(7, setting());
  for (std::size_t i = 0; i < settings.size(); ++i) settings[i].splits = static_cast<double>(i + 1);
  std::vector<Estimate> estimates(settings.size());
  tiled_times(gpu(), product(300, 500, 4096), settings, estimates);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Estimate alone = tiled_time(product(300, 500, 4096), settings[i]);
    EXPECT_EQ(estimates[i].us, alone.us) << i;
    EXPECT_EQ(estimates[i].bound, alone.bound) << i;
  }
}

}  // namespace
}  // namespace gemwright::model
