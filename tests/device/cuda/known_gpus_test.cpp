#include "device/cuda/known_gpus.hpp"

#include "device/cuda/devices.hpp"
#include <gemwright/errors.hpp>

#include <set>

#include <gtest/gtest.h>

namespace gemwright::cuda {
namespace {

TEST(KnownGpus, AreFoundBySlugAliasAndName) {
  for (const char* name : {"nvidia-l40s", "l40s", "L40S", "NVIDIA L40S"}) {
    ASSERT_NE(find_known_gpu(name), nullptr) << name;
    EXPECT_EQ(find_known_gpu(name)->slug, "nvidia-l40s");
  }
  for (const char* name : {"rtx3090", "RTX 3090", "nvidia geforce rtx-3090"}) {
    ASSERT_NE(find_known_gpu(name), nullptr) << name;
    EXPECT_EQ(find_known_gpu(name)->multiprocessors, 82);
  }
  for (const char* name :
       {"a100-40gb", "a100-80gb", "a10g", "rtx4090", "l4", "h100", "h100-pcie", "h200"}) {
    EXPECT_NE(find_known_gpu(name), nullptr) << name;
  }
  EXPECT_EQ(find_known_gpu("l40"), nullptr);
  EXPECT_EQ(find_known_gpu("rtx 3090 ti"), nullptr);
  EXPECT_EQ(find_known_gpu("h200 nvl"), nullptr);
  EXPECT_EQ(find_known_gpu(""), nullptr);
}

TEST(KnownGpus, SlugsAreThoseOfTheNamesAndUnique) {
  std::set<std::string_view> slugs;
  for (const auto& gpu : known_gpus()) {
    EXPECT_EQ(slug_of(gpu.name), gpu.slug);
    EXPECT_TRUE(slugs.insert(gpu.slug).second) << gpu.slug;
  }
}

// The data sheets' dense peaks in TFLOP/s with fp32 accumulation.
TEST(KnownGpus, PeakRatesAreTheDataSheets) {
  struct Peak {
    const char* name;
    double f32, tf32, f16, f8;
  };
  for (const auto& peak :
       {Peak{"a100-80gb", 19.5, 156, 312, 0}, Peak{"a10g", 35, 35, 70, 0},
        Peak{"rtx3090", 35.6, 35.6, 71, 0}, Peak{"rtx4090", 82.6, 82.6, 165.2, 330.3},
        Peak{"l4", 30.3, 60, 121, 242}, Peak{"l40s", 91.6, 183, 362, 733},
        Peak{"h100", 67, 494.7, 989.4, 1979}, Peak{"h100-pcie", 51, 378, 756, 1513},
        Peak{"h100-nvl", 60, 418, 835, 1671}, Peak{"h200", 67, 494.7, 989.4, 1979}}) {
    const auto device = known_device(peak.name);
    ASSERT_TRUE(device) << peak.name;
    EXPECT_FALSE(device->present());
    EXPECT_EQ(device->kind(), DeviceKind::cuda);
    const auto& gpu = device->profile().cuda;
    // Stated at a higher clock than the tensor cores' on the cards of the least power.
    EXPECT_NEAR(gpu.f32_flops / 1e12, peak.f32, 0.15 * peak.f32) << peak.name;
    EXPECT_NEAR(gpu.tf32_flops / 1e12, peak.tf32, 0.02 * peak.tf32) << peak.name;
    EXPECT_NEAR(gpu.f16_flops / 1e12, peak.f16, 0.02 * peak.f16) << peak.name;
    EXPECT_NEAR(gpu.f8_flops / 1e12, peak.f8, 0.02 * peak.f8) << peak.name;
    EXPECT_GT(gpu.shared_per_sm, gpu.shared_per_block);
    EXPECT_GT(gpu.l2_bytes, 0U);
  }
}

TEST(Devices, AMissingOneIsSaid) {
  if (device_count() == 0) {
    EXPECT_THROW(device(0), DeviceError);
  }
  try {
    device(99);
    FAIL();
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.find("driver") != std::string::npos || text.find("99") != std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace gemwright::cuda
