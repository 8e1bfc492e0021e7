// Time that the caller's thread spends in Plan::run on a GPU, by family: what a framework pays for
// every product however fast the kernel is.
#include "compile/compiler.hpp"
#include "device/cuda/launch.hpp"
#include "device/cuda/memory.hpp"
#include "device/profile.hpp"
#include "families/family.hpp"
#include "support/options.hpp"
#include <gemwright/gemwright.hpp>

#include <algorithm>
#include <chrono>
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

// What the driver alone takes to launch a kernel that does nothing, through a function of the
// context, a kernel that is good in any, and our launch.
void measure_launches(Report& report, const Device& device) {
  const auto& api = cuda::driver();
  const cuda::CurrentContext current(device.ordinal());
  const cuda::OwnStream stream(device.ordinal());
  const auto compiled = compile::compile(
      {"calibrate.cu", "constexpr int kThreads = 32;\nconstexpr int kUnroll = 1;\n", "empty_kernel",
       device.profile().cuda.sm, false});
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  cuda::check(api.library_load_data(&library, compiled.cubin->data(), nullptr, nullptr, 0, nullptr,
                                    nullptr, 0),
              "cuLibraryLoadData");
  cuda::check(api.library_get_kernel(&kernel, library, "empty_kernel"), "cuLibraryGetKernel");
  cuda::check(api.kernel_get_function(&function, kernel), "cuKernelGetFunction");
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream.handle();
  const auto add = [&](const char* name, auto&& call) {
    Row row;
    row.model = "launch";
    row.role = name;
    row.us.emplace_back("chosen", host_us(stream, call));
    report.add(std::move(row));
  };
  add("driver, function", [&] { api.launch_kernel_ex(&config, function, nullptr, nullptr); });
  add("driver, kernel", [&] {
    api.launch_kernel_ex(&config, reinterpret_cast<CUfunction>(kernel), nullptr, nullptr);
  });
  const auto loaded = cuda::LoadedKernel::load(device, compiled, "empty_kernel", 0);
  add("LoadedKernel", [&] { loaded->launch({.threads = 32}, nullptr, {stream.handle()}); });
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
  bench::measure_launches(report, device);
  bench::measure(report, device, Problem::linear(16, 512, 512, DataType::bf16));
  bench::measure(report, device, Problem::linear(16, 512, 8192, DataType::bf16));
  bench::finish(report, options);
  return 0;
}
