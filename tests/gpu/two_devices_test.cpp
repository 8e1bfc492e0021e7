// Several GPUs in one process: every plan runs on its own, whichever is current.
#include "device/workspace.hpp"
#include "gpu/device_memory.hpp"
#include <gemwright/gemwright.hpp>

#include <string>
#include <thread>
#include <vector>

namespace gemwright::test {
namespace {

class TwoDevices : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    int count = 0;
    cuda::check(cuda::driver().device_get_count(&count), "cuDeviceGetCount");
    if (count < 2) GTEST_SKIP() << "needs two CUDA devices; this machine has " << count;
  }

  static Problem problem() { return Problem::linear(16, 256, 8192, DataType::bf16); }

  // One of each family that takes the problem there.
  static std::vector<Plan> plans(int ordinal) {
    const Planner planner(Device::cuda(ordinal), Store::none());
    std::vector<Plan> list;
    for (const Family* family : families::all()) {
      if (family->device_kind() != DeviceKind::cuda) continue;
      if (family->refuse(canonical(problem()).problem, planner.device())) continue;
      PlanOptions options;
      options.mode = Mode::model;
      options.force = family->name();
      list.push_back(planner.plan(problem(), options));
    }
    return list;
  }

  static void wait_for(int ordinal) {
    const cuda::CurrentContext current(ordinal);
    cuda::check(cuda::driver().ctx_synchronize(), "cuCtxSynchronize");
  }
};

TEST_F(TwoDevices, PlansOfBothTakeTurnsInOneThread) {
  std::vector<std::vector<Plan>> list{plans(0), plans(1)};
  DeviceMemory memories[] = {DeviceMemory(0), DeviceMemory(1)};
  Fixture fixtures[] = {Fixture({"first", problem(), Fill::normal, false}, memories[0], 1),
                        Fixture({"second", problem(), Fill::normal, false}, memories[1], 2)};
  for (int round = 0; round < 3; ++round) {
    for (const int at : {0, 1}) fixtures[at].reset();
    for (const int at : {0, 1}) {
      for (const Plan& plan : list[at]) {
        plan.run(fixtures[at].operands(), memories[at].stream());
        EXPECT_EQ(fixtures[at].compare(), "") << plan.kernel() << " on device " << at;
        fixtures[at].reset();
      }
    }
  }
}

TEST_F(TwoDevices, TheOtherDevicesContextIsLeftCurrent) {
  const auto& api = cuda::driver();
  DeviceMemory memory(1);
  Fixture fixture({"default stream", problem(), Fill::normal, false}, memory);
  const cuda::CurrentContext of_the_first(0);
  CUcontext before = nullptr;
  ASSERT_EQ(api.ctx_get_current(&before), CUDA_SUCCESS);
  for (const Plan& plan : plans(1)) {
    for (const Stream stream : {Stream{}, memory.stream()}) {
      fixture.reset();
      plan.run(fixture.operands(), stream);
      CUcontext after = nullptr;
      ASSERT_EQ(api.ctx_get_current(&after), CUDA_SUCCESS);
      EXPECT_EQ(after, before) << plan.kernel();
      wait_for(1);
      EXPECT_EQ(fixture.compare(), "") << plan.kernel();
    }
  }
}

TEST_F(TwoDevices, OneThreadForEach) {
  std::vector<std::jthread> threads;
  for (const int at : {0, 1}) {
    threads.emplace_back([at] {
      DeviceMemory memory(at);
      Fixture fixture({"thread", problem(), Fill::normal, false}, memory, at + 1);
      for (const Plan& plan : plans(at)) {
        for (int round = 0; round < 10; ++round) {
          fixture.reset();
          plan.run(fixture.operands(), memory.stream());
          EXPECT_EQ(fixture.compare(), "") << plan.kernel() << " on device " << at;
        }
      }
    });
  }
}

TEST_F(TwoDevices, DefaultStreamsHaveAWorkspaceEach) {
  void* first = device::stream_workspace(Device::cuda(0), {}, 1000);
  EXPECT_NE(device::stream_workspace(Device::cuda(1), {}, 1000), first);
  EXPECT_EQ(device::stream_workspace(Device::cuda(0), {}, 1000), first);
}

}  // namespace
}  // namespace gemwright::test
