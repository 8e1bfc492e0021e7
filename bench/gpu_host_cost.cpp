// Time that the caller's thread spends in Plan::run on a GPU, by family: what a framework pays for
// every product however fast the kernel is. Beside it, what the driver takes of that.
#include "compile/compiler.hpp"
#include "cuda/hopper_params.cuh"
#include "cuda/stream_params.cuh"
#include "device/cuda/launch.hpp"
#include "device/cuda/memory.hpp"
#include "device/profile.hpp"
#include "families/family.hpp"
#include "support/options.hpp"
#include <gemwright/gemwright.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

namespace gemwright::bench {
namespace {

constexpr int kRuns = 200;  // fewer than the driver queues without waiting
constexpr int kRounds = 30;

// Microseconds of one call on the host; least of the rounds.
template <typename Call>
double host_us(const cuda::OwnStream& stream, Call&& call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kRuns; ++i) call();
    const std::chrono::duration<double, std::micro> spent = Clock::now() - start;
    best = std::min(best, spent.count() / kRuns);
    stream.synchronize();
  }
  return best;
}

// What the driver alone takes to launch a kernel that does nothing but take so many bytes of
// parameters: the floor of every plan on this machine.
double driver_us(const Device& device, const cuda::OwnStream& stream, int parameter_bytes) {
  const auto& api = cuda::driver();
  const auto compiled = compile::compile(
      {"empty.cu", fmt::format("constexpr int kParameterBytes = {};\n", parameter_bytes),
       "empty_kernel", device.profile().cuda.sm, false});
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  cuda::check(api.library_load_data(&library, compiled.cubin->data(), nullptr, nullptr, 0, nullptr,
                                    nullptr, 0),
              "cuLibraryLoadData");
  cuda::check(api.library_get_kernel(&kernel, library, "empty_kernel"), "cuLibraryGetKernel");
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream.handle();
  std::vector<char> parameters(static_cast<std::size_t>(parameter_bytes));
  void* arguments[] = {parameters.data()};
  const double us = host_us(stream, [&] {
    api.launch_kernel_ex(&config, reinterpret_cast<CUfunction>(kernel), arguments, nullptr);
  });
  api.library_unload(library);
  return us;
}

// Bytes of parameters that a family's kernels take.
int parameter_bytes(std::string_view family) {
  using namespace gemwright_device;
  if (family == "cuda_hopper") return 3 * sizeof(cuda::TensorMap) + sizeof(HopperParams);
  if (family == "cuda_stream") return 2 * sizeof(cuda::TensorMap) + sizeof(StreamParams);
  return sizeof(GemmParams);
}

void measure(Report& report, const Device& device, const Problem& problem) {
  const Planner planner(device, Store::none());
  // As a framework has it.
  const cuda::CurrentContext current(device.ordinal());
  const cuda::OwnStream stream(device.ordinal());
  const auto bytes = [](std::int64_t elements) { return static_cast<std::size_t>(2 * elements); };
  const cuda::Buffer a(device.ordinal(), bytes(problem.m * problem.k));
  const cuda::Buffer b(device.ordinal(), bytes(problem.k * problem.n));
  const cuda::Buffer d(device.ordinal(), bytes(problem.m * problem.n));
  const Operands operands{.a = a.data(), .b = b.data(), .d = d.data()};
  for (const Family* family : families::all()) {
    if (family->device_kind() != DeviceKind::cuda) continue;
    if (family->refuse(canonical(problem).problem, device)) continue;
    PlanOptions options;
    options.mode = Mode::model;
    options.force = family->name();
    const Plan plan = planner.plan(problem, options);
    plan.run(operands, {stream.handle()});
    stream.synchronize();
    Row row = Row::of(problem);
    row.model = std::string(family->name());
    row.role = "host time of a run";
    row.kernel = plan.kernel();
    row.us.emplace_back("chosen", host_us(stream, [&] { plan.run(operands, {stream.handle()}); }));
    if (!family->vendor()) {
      row.us.emplace_back("driver", driver_us(device, stream, parameter_bytes(family->name())));
    }
    report.add(std::move(row));
  }
}

}  // namespace
}  // namespace gemwright::bench

int main(int argc, char** argv) {
  using namespace gemwright;
  CLI::App app("Host cost of Plan::run on a GPU");
  bench::Options options;
  options.device = "cuda";
  options.add_to(app);
  CLI11_PARSE(app, argc, argv);
  const Device device = Device::parse(options.device);
  if (device.kind() != DeviceKind::cuda || !device.present()) {
    fmt::print(stderr, "{} is no GPU of this machine\n", device.name());
    return 2;
  }
  bench::Report report("gpu_host_cost", device);
  bench::measure(report, device, Problem::linear(16, 512, 512, DataType::bf16));
  bench::measure(report, device, Problem::linear(16, 512, 8192, DataType::bf16));
  bench::finish(report, options);
  return 0;
}
