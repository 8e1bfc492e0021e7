#include "model/cuda_cost.hpp"

#include <gemwright/device.hpp>

#include <algorithm>

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

TiledWork work(std::int64_t m, std::int64_t n, std::int64_t k) {
  TiledWork result;
  result.m = m;
  result.n = n;
  result.k = k;
  result.tile_m = result.tile_n = 128;
  result.tile_k = 64;
  result.stages = 4;
  result.ctas_per_sm = 2;
  result.flops_per_s = 480e12;
  return result;
}

TEST(CudaCost, IsNeverBelowTheRoofline) {
  for (const std::int64_t m : {1, 16, 128, 1000, 8192}) {
    const TiledWork w = work(m, 4096, 4096);
    const double memory = 4096.0 * 4096 * 2 / gpu().memory_bytes_per_s;
    const double math = 2.0 * static_cast<double>(m) * 4096 * 4096 / w.flops_per_s;
    EXPECT_GT(tiled_time(gpu(), w).us, 1e6 * std::max(memory, math)) << m;
  }
}

TEST(CudaCost, SaysWhatBounds) {
  EXPECT_EQ(tiled_time(gpu(), work(8192, 8192, 8192)).bound, Bound::math);
  TiledWork stream = work(16384, 8, 8192);
  stream.tile_n = 8;
  EXPECT_EQ(tiled_time(gpu(), stream).bound, Bound::memory);
  EXPECT_EQ(tiled_time(gpu(), work(16, 16, 64)).bound, Bound::overhead);
  EXPECT_EQ(tiled_time(gpu(), work(1280, 1792, 16384)).bound, Bound::waves);  // 140 tiles
}

TEST(CudaCost, SplittingPaysOnlyWhereTheDeviceIsNotFull) {
  TiledWork deep = work(128, 128, 65536);
  const double whole = tiled_time(gpu(), deep).us;
  deep.splits = 16;
  EXPECT_LT(tiled_time(gpu(), deep).us, whole / 4);
  TiledWork full = work(1536, 1408, 4096);  // 132 tiles
  const double once = tiled_time(gpu(), full).us;
  full.splits = 2;
  EXPECT_GT(tiled_time(gpu(), full).us, once);
}

TEST(CudaCost, SharedOperandsAreReadOnce) {
  TiledWork batch = work(64, 8192, 8192);
  batch.batch = 16;
  const double own = tiled_time(gpu(), batch).us;
  batch.shared_b = true;
  EXPECT_LT(tiled_time(gpu(), batch).us, own);
}

}  // namespace
}  // namespace gemwright::model
