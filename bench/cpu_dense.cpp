// Own dense CPU kernels beside oneDNN and OpenBLAS, with cold weights, on the linear layers of
// Llama-3.1-8B, Qwen3-30B-A3B and FLUX.1, for one thread and for all.
#include "cli/text.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/profile.hpp"
#include "families/family.hpp"
#include "support/cpu_peers.hpp"
#include "support/cpu_race.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/shapes.hpp"
#include "tune/measure.hpp"
#include "tune/memory.hpp"
#include "tune/random.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::bench {
namespace {

struct Arguments {
  Options options;
  bool quick = false;
  int candidates = 6;
  double seconds = 330;
  std::vector<int> threads;
  std::vector<std::int64_t> rows = {1, 4, 16, 128, 512};
  std::vector<std::string> types = {"f32", "bf16"};
  std::vector<std::string> models = {"llama-3.1-8b", "qwen3-30b-a3b", "flux.1-dev"};
  bool verbose = false;
  bool own_time = false;
};

class Bench {
 public:
  Bench(const Arguments& arguments, int threads)
      : arguments_(arguments), threads_(threads), device_(Device::cpu(threads)) {}

  void run_shapes(const std::vector<Shape>& shapes, Report& report, DataType type,
                  double share_of_time) {
    const double start = seconds_now();
    ColdWeights weights(type, std::size_t{960} << 20);
    std::size_t left = shapes.size() * arguments_.rows.size();
    for (const Shape& shape : shapes) {
      for (const std::int64_t m : arguments_.rows) {
        const double budget =
            (share_of_time - (seconds_now() - start)) / static_cast<double>(left--);
        const Problem problem = Problem::linear(m, shape.n, shape.k, type);
        report.add(measure(problem, shape, weights, std::max(0.02, 0.7 * budget)));
        report.sample_clock();
      }
    }
  }

 private:
  Row measure(const Problem& problem, const Shape& shape, ColdWeights& weights, double budget) {
    const auto period = tune::random_period(problem.a.type, tune::Input::a, 1);
    const std::size_t size = static_cast<std::size_t>(size_bytes(problem.a.type));
    tune::Pages a(static_cast<std::size_t>(problem.m * problem.k) * size);
    tune::Pages d(static_cast<std::size_t>(problem.m * problem.n) * size);
    tune::fill_random(a.data(), 0, problem.m * problem.k, problem.a.type, period);
    const Operands x{.a = a.data(), .b = nullptr, .c = nullptr, .d = d.data(), .bias = nullptr};
    std::vector<Runner> runners = {reader(problem, device_, threads_)};
    add_family("cpu_packed", "own_plain", problem, device_, x, arguments_.candidates, runners);
    Problem packed = problem;
    packed.b.packed = true;
    add_family("cpu_packed", "own_packed", packed, device_, x, arguments_.candidates, runners);
    add_family("cpu_vendor", "onednn_plain", problem, device_, x, 0, runners);
    for (Runner& runner : onednn_any(problem, x, threads_)) runners.push_back(std::move(runner));
    std::vector<Timed> times = race(runners, weights, budget);
    // Its threads spin for long after a call, so it runs when nobody else does.
    const std::vector<Runner> blas = openblas(problem, x, threads_);
    const std::vector<Timed> blas_times = race(blas, weights, 0);
    if (!blas.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    times.insert(times.end(), blas_times.begin(), blas_times.end());

    Row row = Row::of(problem);
    row.model = shape.model;
    row.role = shape.role;
    std::map<std::string, const Timed*> best;
    for (const Timed& timed : times) {
      const Timed*& entry = best[timed.runner->group];
      if (entry == nullptr || compared_by(timed) < compared_by(*entry)) entry = &timed;
    }
    for (const auto& [group, timed] : best) row.us.emplace_back(group, timed->median() * 1e6);
    const auto least = [&](std::initializer_list<const char*> groups) {
      double us = 0;
      for (const char* group : groups) {
        const double time = row.time(group);
        if (time > 0 && (us == 0 || time < us)) us = time;
      }
      return us;
    };
    row.us.emplace_back("own", least({"own_plain", "own_packed"}));
    const double first = row.time("onednn_plain");
    if (first > 0) row.us.emplace_back("vendor_first", first);
    row.us.emplace_back("vendor_best", least({"onednn_plain", "onednn_any"}));
    const double math = problem.flops() / (device_.profile().cpu.f32_flops * threads_);
    row.us.emplace_back("floor", std::max(row.time("read"), math * 1e6));
    add_chosen(best, row);
    if (arguments_.verbose) {
      fmt::print("{:5} {:5} {:5} {}t {}", row.m, row.n, row.k, threads_, row.type);
      for (const auto& [group, timed] : best) {
        fmt::print("  {} {:.0f} ({})", group, timed->median() * 1e6, timed->runner->kernel);
      }
      fmt::print("  floor {:.0f}\n", row.time("floor"));
      std::fflush(stdout);
    }
    return row;
  }

  static double compared_by(const Timed& timed) {
    return tune::time_of(timed.contender(false), kPolicy);
  }

  /// The choice among the library's candidates, by the tuner's rule; reported is the median, as of
  /// all.
  static void add_chosen(const std::map<std::string, const Timed*>& best, Row& row) {
    std::vector<const Timed*> timed;
    for (const char* group : {"own_plain", "own_packed", "onednn_plain"}) {
      const auto found = best.find(group);
      if (found != best.end()) timed.push_back(found->second);
    }
    std::sort(timed.begin(), timed.end(),
              [](const Timed* x, const Timed* y) { return compared_by(*x) < compared_by(*y); });
    std::vector<tune::Contender> contenders;
    std::vector<std::size_t> preference;
    for (const Timed* one : timed) {
      preference.push_back(contenders.size());
      contenders.push_back(one->contender(one->runner->group == "onednn_plain"));
    }
    const int index = tune::choose(contenders, preference, kPolicy).index;
    const Timed& chosen = *timed[static_cast<std::size_t>(std::max(index, 0))];
    row.us.emplace_back("chosen", chosen.median() * 1e6);
    row.kernel = chosen.runner->kernel;
  }

  inline static const tune::Policy kPolicy = tune::policy_of(DeviceKind::cpu);

  const Arguments& arguments_;
  int threads_;
  Device device_;
};

/// A few shapes that stand for the rest: square, narrow, wide, short and deep.
bool representative(const Shape& shape) {
  static const std::set<std::string> roles = {"qkv",        "q", "k", "o", "expert_gate_up",
                                              "expert_down"};
  return roles.contains(shape.role) && shape.n * shape.k <= 26'000'000;
}

std::vector<Shape> selected(const Arguments& arguments) {
  std::vector<Shape> shapes;
  for (const std::string& model : arguments.models) {
    for (const Shape& shape : shapes_of(model)) {
      if (arguments.quick && !representative(shape)) continue;
      shapes.push_back(shape);
    }
  }
  return distinct(std::move(shapes));
}

void print_ratios(const Report& report, int threads) {
  cli::Table table({"threads", "type", "M", "oneDNN best", "plain/plain", "any/packed", "OpenBLAS",
                    "read rate", "roofline"});
  for (const char* type : {"f32", "bf16"}) {
    for (const std::int64_t m : {1, 4, 16, 128, 512}) {
      const auto keep = [&](const Row& row) { return row.type == type && row.m == m; };
      const auto ratio = [&](const char* theirs, const char* ours) {
        const double value = report.geometric_mean(theirs, ours, keep);
        return value > 0 ? fmt::format("{:.2f}", value) : std::string("-");
      };
      if (report.geometric_mean("floor", "own", keep) == 0) continue;
      table.add({std::to_string(threads), type, std::to_string(m), ratio("vendor_best", "own"),
                 ratio("onednn_plain", "own_plain"), ratio("onednn_any", "own_packed"),
                 ratio("openblas", "own"), ratio("read", "own"), ratio("floor", "own")});
    }
  }
  fmt::print("\nSpeed of own kernels, as a multiple of each (geometric means)\n");
  table.print(std::cout);
}

void run(const Arguments& arguments) {
  const std::vector<Shape> shapes = selected(arguments);
  std::vector<int> counts = arguments.threads;
  if (arguments.own_time) {
    count_own_time();
    counts = {1};
  }
  const int all = Device::cpu().profile().cpu.threads;
  if (counts.empty()) counts = all > 1 ? std::vector<int>{1, all} : std::vector<int>{1};
  // Before any thread is bound to a core.
  cpu::ThreadPool::global().reserve(all);
  const double share =
      arguments.seconds / static_cast<double>(counts.size() * arguments.types.size());
  for (const int threads : counts) {
    Report report(threads == all && all > 1 ? "cpu_dense" : fmt::format("cpu_dense_{}t", threads),
                  Device::cpu(threads));
    Bench bench(arguments, threads);
    for (const std::string& type : arguments.types) {
      bench.run_shapes(shapes, report, parse_data_type(type), share);
    }
    finish(report, arguments.options);
    print_ratios(report, threads);
  }
}

}  // namespace
}  // namespace gemwright::bench

int main(int argc, char** argv) {
  gemwright::bench::prepare_peers(argv);
  gemwright::bench::Arguments arguments;
  CLI::App app("Own dense CPU kernels beside oneDNN and OpenBLAS, weights cold.");
  arguments.options.add_to(app);
  app.add_flag("--quick", arguments.quick, "a few shapes that stand for the rest");
  app.add_option("--candidates", arguments.candidates, "own configurations measured; 0: all");
  app.add_option("--seconds", arguments.seconds, "about how long to measure");
  app.add_option("--threads", arguments.threads, "numbers of threads; default 1 and all");
  app.add_option("--rows", arguments.rows, "values of M");
  app.add_option("--types", arguments.types, "f32, bf16, f16");
  app.add_option("--models", arguments.models, "models whose shapes are measured");
  app.add_flag("--own-time", arguments.own_time,
               "count only the time that this thread has a core; one thread");
  app.add_flag("--verbose", arguments.verbose, "a line for every problem");
  CLI11_PARSE(app, argc, argv);
  try {
    gemwright::bench::run(arguments);
  } catch (const gemwright::Error& error) {
    fmt::print(stderr, "cpu_dense: {}\n", error.what());
    return 1;
  }
  return 0;
}
