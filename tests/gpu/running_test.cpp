// Plans on a GPU: contexts, streams, threads, graphs, workspaces.
#include "device/workspace.hpp"
#include "gpu/device_memory.hpp"
#include <gemwright/gemwright.hpp>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace gemwright::test {
namespace {

// One plan of each CUDA family for a problem with split-K in reach, by the model alone.
std::vector<Plan> plans(const Problem& problem) {
  const Planner planner(Device::cuda(0), Store::none());
  std::vector<Plan> list;
  for (const Family* family : families::all()) {
    const auto form = canonical(problem).problem;
    if (family->device_kind() != DeviceKind::cuda) continue;
    if (family->refuse(form, planner.device())) continue;
    PlanOptions options;
    options.mode = Mode::model;
    options.force = family->name();
    list.push_back(planner.plan(problem, options));
  }
  return list;
}

Problem small_and_deep() {
  return Problem::linear(16, 256, 8192, DataType::bf16);
}

class Running : public GpuTest {};

TEST_F(Running, LeavesTheCallersContextAlone) {
  const auto& api = cuda::driver();
  const auto list = plans(small_and_deep());
  ASSERT_FALSE(list.empty());
  DeviceMemory memory;
  Fixture fixture({"context", small_and_deep(), Fill::normal, false}, memory);
  for (const auto& plan : list) {
    CUcontext current = nullptr;
    ASSERT_EQ(api.ctx_get_current(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr) << "a context was left behind";
    // The default stream with no context, then the plan's own device's context, then none again.
    for (const bool with_context : {false, true}) {
      fixture.reset();
      if (with_context) {
        const cuda::CurrentContext pushed(0);
        plan.run(fixture.operands());
      } else {
        plan.run(fixture.operands());
      }
      {
        const cuda::CurrentContext pushed(0);
        ASSERT_EQ(api.ctx_synchronize(), CUDA_SUCCESS);
      }
      EXPECT_EQ(fixture.compare(), "") << plan.kernel();
    }
  }
}

TEST_F(Running, GraphReplaysWithNewInputs) {
  for (const auto& plan : plans(small_and_deep())) {
    DeviceMemory memory;
    Fixture first({"first inputs", small_and_deep(), Fill::normal, false}, memory, 1);
    Fixture second({"second inputs", small_and_deep(), Fill::normal, false}, memory, 2);
    const auto& stream = memory.own_stream();
    plan.run(first.operands(), memory.stream());  // makes the stream's workspace
    stream.synchronize();
    first.reset();
    const cuda::Graph graph(0, stream, [&] {
      plan.run(first.operands(), memory.stream());
      plan.run(second.operands(), memory.stream());
    });
    for (int replay = 0; replay < 3; ++replay) {
      first.reset();
      second.reset();
      graph.launch(stream);
      stream.synchronize();
      EXPECT_EQ(first.compare(), "") << plan.kernel();
      EXPECT_EQ(second.compare(), "") << plan.kernel();
    }
  }
}

TEST_F(Running, OnePlanOnTwoStreamsFromTwoThreads) {
  for (const auto& plan : plans(small_and_deep())) {
    const auto work = [&plan](std::uint32_t seed) {
      DeviceMemory memory;
      Fixture fixture({"thread", small_and_deep(), Fill::normal, false}, memory, seed);
      for (int round = 0; round < 20; ++round) {
        fixture.reset();
        for (int i = 0; i < 10; ++i) plan.run(fixture.operands(), memory.stream());
        EXPECT_EQ(fixture.compare(), "") << plan.kernel() << " in round " << round;
      }
    };
    // A fault of one thread is a failure, not the end of the program.
    const auto guarded = [&work](std::uint32_t seed) { EXPECT_NO_THROW(work(seed)); };
    const std::jthread other(guarded, 1);
    guarded(2);
  }
}

TEST_F(Running, SameBitsEveryTime) {
  for (const auto& plan : plans(small_and_deep())) {
    DeviceMemory memory;
    Fixture fixture({"repeated", small_and_deep(), Fill::normal, false}, memory);
    std::vector<std::byte> first;
    for (int run = 0; run < 20; ++run) {
      fixture.reset();
      plan.run(fixture.operands(), memory.stream());
      auto bytes = fixture.output();
      if (first.empty())
        first = std::move(bytes);
      else
        ASSERT_EQ(bytes, first) << plan.kernel();
    }
  }
}

// The vendor library leaves anything in its scratch memory; own kernels count on zeroed counters.
TEST_F(Running, PlansShareAWorkspaceInTurn) {
  DeviceMemory memory;
  Fixture fixture({"shared workspace", small_and_deep(), Fill::normal, false}, memory);
  const auto list = plans(small_and_deep());
  std::size_t bytes = 0;
  for (const auto& plan : list) bytes = std::max(bytes, plan.workspace_bytes());
  const Workspace workspace = make_workspace(memory, bytes);
  for (int round = 0; round < 3; ++round) {
    for (const auto& plan : list) {
      fixture.reset();
      plan.run(fixture.operands(), memory.stream(), workspace);
      EXPECT_EQ(fixture.compare(), "") << plan.kernel();
    }
  }
}

TEST_F(Running, WorkspacesAreTheStreams) {
  const Device device = Device::cuda(0);
  const cuda::OwnStream one(0);
  const cuda::OwnStream two(0);
  void* first = device::stream_workspace(device, {one.handle()}, 1000);
  EXPECT_EQ(device::stream_workspace(device, {one.handle()}, 5000), first);
  EXPECT_NE(device::stream_workspace(device, {two.handle()}, 1000), first);
  void* grown = device::stream_workspace(device, {one.handle()}, 64U << 20);
  EXPECT_NE(grown, first);
  EXPECT_EQ(device::stream_workspace(device, {one.handle()}, 1000), grown);
  EXPECT_NE(device::stream_workspace(device, {}, 1000), nullptr);  // no context is current
  const cuda::OwnStream fresh(0);
  EXPECT_THROW(
      cuda::Graph(0, fresh, [&] { device::stream_workspace(device, {fresh.handle()}, 1000); }),
      DeviceError);
}

}  // namespace
}  // namespace gemwright::test
