// The tuner's testbed on a GPU.
#include "tune/testbed.hpp"

#include "device/calibrate.hpp"
#include "device/cuda/known_gpus.hpp"
#include "device/profile.hpp"
#include "gpu/device_memory.hpp"
#include "tune/reference.hpp"
#include "tune/validate.hpp"

#include <algorithm>
#include <string>

namespace gemwright::test {
namespace {

class TestbedOnGpu : public GpuTest {};

std::shared_ptr<const Kernel> some_kernel(const Problem& problem, const Device& device) {
  for (const Family* family : families::all()) {
    if (family->device_kind() != DeviceKind::cuda || family->refuse(problem, device)) continue;
    return family->build(problem, device, family->configurations(problem, device).front());
  }
  return nullptr;
}

bool all_poison(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == tune::kPoison; });
}

TEST_F(TestbedOnGpu, PoisonIsOverwrittenByTheKernelButNotBesideD) {
  const Device device = Device::cuda(0);
  const Problem problem = Problem::linear(17, 256, 512, DataType::bf16);
  const auto kernel = some_kernel(problem, device);
  ASSERT_NE(kernel, nullptr);
  const auto bed = tune::make_testbed(problem, device);
  ASSERT_TRUE(all_poison(bed->output()));
  for (const bool fresh : {true, false}) {
    bed->poison();
    bed->run(*kernel, fresh);
    const auto bytes = bed->output();
    ASSERT_EQ(bytes.size(), 2 * tune::kGuardBytes + 17 * 256 * 2U);
    EXPECT_TRUE(all_poison(bytes.first(tune::kGuardBytes)));
    EXPECT_TRUE(all_poison(bytes.last(tune::kGuardBytes)));
    for (std::size_t i = tune::kGuardBytes; i + tune::kGuardBytes < bytes.size(); i += 2) {
      ASSERT_FALSE(all_poison(bytes.subspan(i, 2))) << "element " << i / 2;
    }
  }
}

TEST_F(TestbedOnGpu, WeightsRotateBeyondTheCache) {
  const Device device = Device::cuda(0);
  const Problem problem = Problem::linear(1, 1024, 1024, DataType::bf16);
  const auto bed = tune::make_testbed(problem, device);
  EXPECT_GE(static_cast<std::size_t>(bed->copies()) * 2 * 1024 * 1024,
            3 * device.profile().cuda.l2_bytes);
  const auto rotation = bed->rotation(some_kernel(problem, device), bed->copies());
  for (int i = 0; i < 3; ++i) EXPECT_GT(rotation->seconds(), 0);
}

TEST_F(TestbedOnGpu, NoSceneChangesAResult) {
  const Device device = Device::cuda(0);
  const Problem problem = Problem::linear(17, 256, 512, DataType::bf16);
  const auto kernel = some_kernel(problem, device);
  const tune::Reference reference(problem, 1);
  for (const tune::Scene& scene :
       {tune::Scene{}, tune::Scene{.early = Early::b}, tune::Scene{.elementwise = true},
        tune::Scene{.early = Early::b, .elementwise = true}, tune::Scene{.launches = true}}) {
    const auto bed = tune::make_testbed(problem, device, {.copies = 2, .scene = scene});
    EXPECT_EQ(tune::validate(*kernel, problem, *bed, reference), "");
    EXPECT_GT(bed->rotation(kernel, 5)->seconds(), 0);
    EXPECT_EQ(reference.check(bed->output()), "");
  }
}

TEST_F(TestbedOnGpu, ConstantsOfTheCalibrationMakeSense) {
  const Device device = calibrated(Device::cuda(0), true);
  const auto& gpu = device.profile().cuda;
  ASSERT_TRUE(gpu.calibrated);
  RecordProperty("launch_ns", static_cast<int>(gpu.launch_s * 1e9));
  RecordProperty("memory_gbs", static_cast<int>(gpu.memory_bytes_per_s * 1e-9));
  EXPECT_GT(gpu.launch_s, 2e-7);
  EXPECT_LT(gpu.launch_s, 2e-5);
  // Of the data sheet's rate some is lost, and not half.
  const auto* known = cuda::find_known_gpu(device.name());
  if (known != nullptr) {
    EXPECT_LT(gpu.memory_bytes_per_s, known->memory_gbs * 1e9);
    EXPECT_GT(gpu.memory_bytes_per_s, known->memory_gbs * 0.5e9);
  }
}

}  // namespace
}  // namespace gemwright::test
