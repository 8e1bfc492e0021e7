#include "device/cpu/calibration.hpp"

#include "device/calibrate.hpp"
#include "device/cpu/detect.hpp"
#include "files/file_lock.hpp"
#include "files/files.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gemwright::cpu {
namespace {

// Each test has a cache folder of its own.
class Calibration : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("gemwright_calibration_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    before_.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;
  std::string before_;
};

TEST_F(Calibration, TextIsReadBack) {
  DeviceProfile measured = detect();
  measured.cpu.f32_flops = 123456789012.0;
  measured.cpu.fork_join_s = 4.5e-6;
  DeviceProfile profile = detect();
  ASSERT_TRUE(parse_calibration(calibration_text(measured), profile));
  EXPECT_TRUE(profile.cpu.calibrated);
  EXPECT_EQ(profile.cpu.f32_flops, 123456789012.0);
  EXPECT_EQ(profile.cpu.fork_join_s, 4.5e-6);
}

TEST_F(Calibration, WhatMakesNoSenseIsNotTaken) {
  const DeviceProfile here = detect();
  const std::string text = calibration_text(here);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("[1]"), text.substr(0, text.size() / 2),
        replaced("\"version\": ", "\"version\": 9"),
        replaced("\"version\": ", "\"version\": [],\"v\":"), replaced("threads=", "threads=9"),
        replaced("f32_flops", "f33_flops"), replaced("\"f32_flops\": ", "\"f32_flops\": -")}) {
    DeviceProfile profile = here;
    EXPECT_FALSE(parse_calibration(bad, profile)) << bad;
    EXPECT_FALSE(profile.cpu.calibrated);
    EXPECT_EQ(profile.cpu.f32_flops, here.cpu.f32_flops);
  }
}

TEST_F(Calibration, MeasuresOnceAndKeeps) {
  EXPECT_FALSE(Device::cpu(1).profile().cpu.calibrated);
  const Device first = calibrated(Device::cpu(1));
  EXPECT_TRUE(first.profile().cpu.calibrated);
  EXPECT_GT(first.profile().cpu.f32_flops, 1e8);
  EXPECT_GT(first.profile().cpu.dram_bytes_per_s_1, 1e7);
  // Bit for bit the same: it came from the file, as it does for a new Device.
  EXPECT_EQ(calibrated(Device::cpu(1)).profile().cpu.f32_flops, first.profile().cpu.f32_flops);
  EXPECT_EQ(Device::cpu(1).profile().cpu.f32_flops, first.profile().cpu.f32_flops);
  EXPECT_EQ(Device::cpu(1).key(), first.key());
}

TEST_F(Calibration, CorruptFileIsMeasuredAgain) {
  const auto path = calibration_path(Device::cpu(1).profile());
  files::write_atomically(path, "not what it was");
  EXPECT_FALSE(Device::cpu(1).profile().cpu.calibrated);
  EXPECT_TRUE(calibrated(Device::cpu(1)).profile().cpu.calibrated);
  EXPECT_TRUE(Device::cpu(1).profile().cpu.calibrated);
}

TEST_F(Calibration, WorksWhereNothingCanBeKept) {
  files::write_atomically(folder_, "a file where the cache folder should be");
  EXPECT_TRUE(calibrated(Device::cpu(1)).profile().cpu.calibrated);
}

TEST_F(Calibration, WaitsForAnotherProcessOnlySoLong) {
  const Device device = Device::cpu(1);
  const auto path = calibration_path(device.profile());
  std::filesystem::create_directories(path.parent_path());
  const files::FileLock other(path.string() + ".lock", files::FileLock::Kind::alone, 0);
  ASSERT_TRUE(other.held());
  EXPECT_TRUE(calibrated(device, false, 0.1).profile().cpu.calibrated);
}

TEST_F(Calibration, DescribedDevicesStayAsTheyAre) {
  const Device described(std::make_shared<DeviceProfile>(detect()), 0, false);
  EXPECT_FALSE(gemwright::calibrated(described).profile().cpu.calibrated);
}

}  // namespace
}  // namespace gemwright::cpu
