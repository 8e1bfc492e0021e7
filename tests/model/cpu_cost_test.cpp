#include "model/cpu_cost.hpp"

#include <gtest/gtest.h>

namespace gemwright::model {
namespace {

CpuProfile profile() {
  CpuProfile cpu;
  cpu.features.avx512 = true;
  cpu.cores = cpu.threads = 4;
  cpu.f32_flops = 100e9;
  cpu.bf16_flops = 200e9;
  cpu.dram_bytes_per_s_1 = 10e9;
  cpu.dram_bytes_per_s_all = 20e9;
  return cpu;
}

BlockedWork blocked(std::int64_t m, std::int64_t n, std::int64_t k) {
  BlockedWork work;
  work.m = m;
  work.n = n;
  work.k = k;
  work.rows = 14;
  work.columns = 32;
  work.rows_block = m;
  work.columns_block = 512;
  work.depth_block = 256;
  work.flops_per_s = 100e9;
  work.pack_b = false;
  return work;
}

StreamingWork streaming(std::int64_t m, std::int64_t n, std::int64_t k) {
  StreamingWork work;
  work.m = m;
  work.n = n;
  work.k = k;
  work.rows = m;
  work.columns = 8;
  work.flops_per_s = 100e9;
  return work;
}

double flops(const CpuWork& w) {
  return 2.0 * static_cast<double>(w.m) * static_cast<double>(w.n) * static_cast<double>(w.k);
}

TEST(CpuCost, NeverBelowTheRoofline) {
  for (const std::int64_t m : {1, 5, 64, 700}) {
    const BlockedWork work = blocked(m, 1000, 1000);
    const double us = cpu_blocked_cost(profile(), work).us;
    EXPECT_GE(us, flops(work) / 100e9 * 1e6);
    EXPECT_GE(us, 4.0 * 1000 * 1000 / 10e9 * 1e6);
  }
}

TEST(CpuCost, LargeProductsComeNearTheMathRate) {
  const BlockedWork work = blocked(1400, 2048, 2048);
  const Estimate estimate = cpu_blocked_cost(profile(), work);
  EXPECT_LT(estimate.us, 1.3 * flops(work) / 100e9 * 1e6);
  EXPECT_EQ(estimate.bound, Bound::math);
}

TEST(CpuCost, OneRowIsBoundByMemory) {
  const StreamingWork work = streaming(1, 4096, 4096);
  const Estimate estimate = cpu_streaming_cost(profile(), work);
  EXPECT_EQ(estimate.bound, Bound::memory);
  EXPECT_NEAR(estimate.us, 4.0 * 4096 * 4096 / 10e9 * 1e6, 0.3 * estimate.us);
}

TEST(CpuCost, MoreOfAnythingTakesLonger) {
  const CpuProfile cpu = profile();
  const double us = cpu_blocked_cost(cpu, blocked(64, 512, 512)).us;
  EXPECT_GT(cpu_blocked_cost(cpu, blocked(128, 512, 512)).us, us);
  EXPECT_GT(cpu_blocked_cost(cpu, blocked(64, 1024, 512)).us, us);
  EXPECT_GT(cpu_blocked_cost(cpu, blocked(64, 512, 1024)).us, us);
  BlockedWork packing = blocked(64, 512, 512);
  packing.pack_b = true;
  EXPECT_GT(cpu_blocked_cost(cpu, packing).us, us);
  BlockedWork widening = blocked(64, 512, 512);
  widening.widening = 2;
  EXPECT_GT(cpu_blocked_cost(cpu, widening).us, us);
}

TEST(CpuCost, ThreadsHelpUnlessTheirSharesAreUneven) {
  const CpuProfile cpu = profile();
  BlockedWork even = blocked(700, 1024, 1024);
  const double one = cpu_blocked_cost(cpu, even).us;
  even.threads = 4;
  even.cells_n = 4;
  EXPECT_LT(cpu_blocked_cost(cpu, even).us, 0.3 * one);
  BlockedWork uneven = even;
  uneven.cells_n = 5;
  EXPECT_GT(cpu_blocked_cost(cpu, uneven).us, 1.4 * cpu_blocked_cost(cpu, even).us);
  EXPECT_EQ(cpu_blocked_cost(cpu, uneven).bound, Bound::waves);
}

TEST(CpuCost, ForkAndJoinDecideForTinyProducts) {
  const CpuProfile cpu = profile();
  StreamingWork tiny = streaming(1, 64, 64);
  const double alone = cpu_streaming_cost(cpu, tiny).us;
  tiny.threads = 4;
  tiny.cells_n = 4;
  EXPECT_GT(cpu_streaming_cost(cpu, tiny).us, alone);
  EXPECT_EQ(cpu_streaming_cost(cpu, tiny).bound, Bound::overhead);
}

TEST(CpuCost, ACallOfTheVendorTakesTimeOfItsOwn) {
  const Estimate tiny = cpu_vendor_cost(Problem::mm(1, 2, 3, DataType::f32), profile(), 1);
  EXPECT_GT(tiny.us, 0.3);
  EXPECT_EQ(tiny.bound, Bound::overhead);
}

TEST(CpuCost, SmallTilesCostMoreOfTheLoop) {
  const CpuProfile cpu = profile();
  BlockedWork narrow = blocked(1400, 1024, 1024);
  const double wide = cpu_blocked_cost(cpu, narrow).us;
  narrow.rows = 2;
  narrow.columns = 16;
  EXPECT_GT(cpu_blocked_cost(cpu, narrow).us, 2 * wide);
}

}  // namespace
}  // namespace gemwright::model
