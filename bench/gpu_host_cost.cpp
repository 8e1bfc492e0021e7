// Time that the caller's thread spends in Plan::run on a GPU, by family: what a framework pays for
// every product however fast the kernel is.
#include "device/cuda/memory.hpp"
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

// Microseconds of one run on the host; least of the rounds.
double host_us(const Plan& plan, const Operands& operands, const cuda::OwnStream& stream) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kRuns; ++i) plan.run(operands, {stream.handle()});
    const std::chrono::duration<double, std::micro> spent = Clock::now() - start;
    best = std::min(best, spent.count() / kRuns);
    stream.synchronize();
  }
  return best;
}

void measure(Report& report, const Device& device, const Problem& problem) {
  const Planner planner(device, Store::none());
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
    row.us.emplace_back("chosen", host_us(plan, operands, stream));
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
