#include "device/profile.hpp"
#include <gemwright/device.hpp>
#include <gemwright/errors.hpp>

#include <gtest/gtest.h>

namespace gemwright {
namespace {

TEST(Device, CpuHasAllThatTheModelNeeds) {
  const Device device = Device::cpu();
  const CpuProfile& cpu = device.profile().cpu;
  EXPECT_EQ(device.kind(), DeviceKind::cpu);
  EXPECT_TRUE(device.present());
  EXPECT_FALSE(device.name().empty());
  EXPECT_FALSE(device.profile().driver.empty());
  EXPECT_EQ(device.slug().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
            std::string::npos);
  EXPECT_GE(cpu.threads, 1);
  EXPECT_EQ(cpu.threads, cpu.cores);
  EXPECT_GT(cpu.l1_bytes, 0U);
  EXPECT_GT(cpu.l2_bytes, cpu.l1_bytes);
  EXPECT_GT(cpu.f32_flops, 0);
  EXPECT_GT(cpu.dram_bytes_per_s_1, 0);
  EXPECT_GE(cpu.dram_bytes_per_s_all, cpu.dram_bytes_per_s_1);
}

TEST(Device, FeaturesImplyTheirFoundations) {
  const CpuFeatures f = Device::cpu().profile().cpu.features;
  EXPECT_TRUE(!f.avx512 || f.avx2_fma);
  EXPECT_TRUE(f.avx512 || !(f.avx512_bf16 || f.avx512_fp16 || f.avx512_vnni || f.amx_bf16));
}

TEST(Device, ThreadsArePartOfTheKey) {
  const Device one = Device::parse("cpu:1");
  EXPECT_EQ(one.profile().cpu.threads, 1);
  if (Device::cpu().profile().cpu.cores > 1) {
    EXPECT_NE(one.key(), Device::cpu(2).key());
  }
  EXPECT_EQ(one.key(), Device::cpu(1).key());
  EXPECT_EQ(Device::parse("cpu").key(), Device::cpu().key());
}

TEST(Device, RefusesWhatIsNoDevice) {
  for (const char* text : {"", "tpu", "cpu:", "cpu:x", "cpu:-1", "cpu:2x", "cpu:0", "cpu:5000",
                           "cuda:", "cuda:first", "nvidia-l41"}) {
    EXPECT_THROW(Device::parse(text), InvalidArgument) << text;
  }
}

TEST(Device, HasNoMoreThreadsThanCores) {
  const int cores = Device::cpu().profile().cpu.cores;
  EXPECT_EQ(Device::cpu(cores).profile().cpu.threads, cores);
  EXPECT_THROW(Device::cpu(cores + 1), InvalidArgument);
  try {
    Device::parse("cpu:" + std::to_string(cores + 1));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("to cpu:" + std::to_string(cores)), std::string::npos);
  }
}

TEST(Device, TheCpusDriverIsTheKernelsVersionAlone) {
  const std::string driver = Device::cpu().profile().driver;
  const std::string version = driver.substr(driver.find(' ') + 1);
  EXPECT_FALSE(version.empty());
  EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos) << driver;
}

TEST(Device, AllEndsWithTheCpu) {
  const auto devices = Device::all();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.back().kind(), DeviceKind::cpu);
}

}  // namespace
}  // namespace gemwright
