// The tuner's testbed on a GPU.
#include "tune/testbed.hpp"

#include "device/calibrate.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/known_gpus.hpp"
#include "device/profile.hpp"
#include "gpu/device_memory.hpp"
#include "tune/reference.hpp"
#include "tune/validate.hpp"

#include <algorithm>
#include <cmath>
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

// Sets `count` bytes, from so many after D's first on.
class Memset final : public Kernel {
 public:
  Memset(std::int64_t first, std::size_t count, unsigned char value)
      : first_(first), count_(count), value_(value) {}
  bool serves(const Problem&) const override { return true; }
  std::size_t workspace_bytes(const Problem&) const override { return 0; }
  void run(const Problem&, const Operands& operands, void*, Stream stream) const override {
    const cuda::CurrentContext current(0);
    cuda::check(cuda::driver().memset_bytes(reinterpret_cast<CUdeviceptr>(operands.d) + first_,
                                            value_, count_, static_cast<CUstream>(stream.handle)),
                "cuMemsetD8Async");
  }

 private:
  std::int64_t first_;
  std::size_t count_;
  unsigned char value_;
};

TEST_F(TestbedOnGpu, SeesOnTheDeviceWhatTheHostSees) {
  const Device device = Device::cuda(0);
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
    for (const int alignment : {16, size_bytes(type) == 4 ? 4 : 2}) {
      Problem problem = Problem::mm(67, 1001, 8, type);
      problem.d.row_stride = 1003;
      problem.d.alignment = alignment;
      const auto bed = tune::make_testbed(problem, device, {.copies = 1});
      const std::int64_t bytes = (66 * 1003 + 1001) * size_bytes(type);
      const std::vector<std::int64_t> places{0, 1, 1000, 1003, 40'000, 66 * 1003 + 1000};
      // Nothing, all, a NaN or infinity or large number within, an element before D, one after.
      for (const Memset& memset :
           {Memset(0, 0, 0), Memset(0, bytes, 1), Memset(20, 4444, 0x7F),
            Memset(-size_bytes(type), size_bytes(type), 3), Memset(bytes, 1, 3)}) {
        bed->poison();
        bed->run(memset, true);
        const auto there = bed->written();
        const auto here = tune::look_through(type, bed->output(), 1);
        EXPECT_EQ(there.outside, here.outside);
        EXPECT_EQ(there.poison, here.poison);
        EXPECT_EQ(there.nan, here.nan);
        const auto values = bed->values(places);
        const auto expected = tune::values_at(type, bed->output(), places);
        ASSERT_EQ(values.size(), expected.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(expected[i])) {
            EXPECT_TRUE(std::isnan(values[i])) << i;
          } else {
            EXPECT_EQ(values[i], expected[i]) << i;
          }
        }
      }
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
    EXPECT_EQ(reference.check(*bed), "");
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
