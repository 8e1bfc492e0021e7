// A GPU that is only described is planned for and compiled for, but not run on.
#include "compile/nvrtc.hpp"
#include <gemwright/gemwright.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gemwright::compile {
namespace {

TEST(Described, IsPlannedForByTheModelButNotRunOn) {
  std::string why;
  if (nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  const auto folder = std::filesystem::temp_directory_path() /
                      ("gemwright_described_" + std::to_string(::getpid()));
  ::setenv("GEMWRIGHT_CACHE", folder.c_str(), 1);
  const Device device = Device::parse("a100-80gb");
  if (device.present()) GTEST_SKIP() << "this machine has that GPU";
  const Planner planner(device, Store::none());
  const Problem problem = Problem::linear(16, 256, 1024, DataType::bf16);
  EXPECT_FALSE(planner.candidates(problem).candidates.empty());
  EXPECT_THROW(planner.plan(problem), Error);  // tuning needs the device

  PlanOptions options;
  options.mode = Mode::model;
  const Plan plan = planner.plan(problem, options);
  EXPECT_FALSE(plan.kernel().empty());
  alignas(256) static char memory[1 << 20];
  const Operands operands{.a = memory, .b = memory + (64 << 10), .d = memory + (640 << 10)};
  const Workspace workspace{.data = memory + (704 << 10), .bytes = 256 << 10};
  EXPECT_THROW(plan.run(operands, {}, workspace), DeviceError);
  EXPECT_THROW(plan.run(operands), DeviceError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gemwright::compile
