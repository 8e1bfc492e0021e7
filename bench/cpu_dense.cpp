// Own dense CPU kernels beside oneDNN and OpenBLAS, with cold weights, on the linear layers of
// Llama-3.1-8B, Qwen3-30B-A3B and FLUX.1, for one thread and for all.
#include "cli/text.hpp"
#include "device/cpu/measure.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/profile.hpp"
#include "families/family.hpp"
#include "model/rank.hpp"
#include "support/cpu_peers.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/shapes.hpp"
#include "tune/memory.hpp"
#include "tune/random.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

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

// With --own-time, what the calling thread has had of a core: of use for one thread only, on a
// machine that others use too.
clockid_t clock_id = CLOCK_MONOTONIC;

double now() {
  timespec time{};
  clock_gettime(clock_id, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_since(double start) {
  return now() - start;
}

/// Random weights from which copies are cut in turn, so that each is cold: a run reads memory that
/// was last read before `arena` bytes of others. The layout does not matter to the values.
class Weights {
 public:
  Weights(DataType type, std::size_t bytes) : bytes_(bytes), pages_(bytes) {
    const auto period = tune::random_period(type, tune::Input::b, 0x1p-6);
    tune::fill_random(pages_.data(), 0, static_cast<std::int64_t>(bytes) / size_bytes(type), type,
                      period);
  }
  const void* next(std::size_t bytes) {
    const std::size_t whole = (bytes + 4095) / 4096 * 4096;
    if (at_ + whole > bytes_) at_ = 0;
    const void* here = pages_.data() + at_;
    at_ += whole;
    return here;
  }

 private:
  std::size_t bytes_;
  tune::Pages pages_;
  std::size_t at_ = 0;
};

/// Reads a copy of the weights and does nothing with it: what memory allows at that moment.
Runner reader(const Problem& problem, const Device& device, int threads) {
  const auto bytes = static_cast<std::size_t>(problem.n * problem.k) *
                     static_cast<std::size_t>(size_bytes(problem.b.type));
  return {"read", "read", bytes, [=](const void* weights) {
            const auto* data = static_cast<const std::byte*>(weights);
            constexpr std::size_t kPart = 1 << 20;
            const auto parts = static_cast<int>((bytes + kPart - 1) / kPart);
            cpu::ThreadPool::global().run(parts, threads, [&](int index, int) {
              const std::size_t begin = static_cast<std::size_t>(index) * kPart;
              cpu::read_bytes(device.profile().cpu.features, data + begin,
                              std::min(kPart, bytes - begin));
            });
          }};
}

struct Timed {
  const Runner* runner = nullptr;
  std::vector<double> seconds;
  double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[(sorted.size() - 1) / 2];
  }
};

double time_once(const Runner& runner, Weights& weights, int runs) {
  const double start = now();
  for (int run = 0; run < runs; ++run) runner.run(weights.next(runner.weight_bytes));
  return seconds_since(start) / runs;
}

/// Interleaved rounds; what is far behind the best of its group leaves early. A runner that takes
/// long needs no warm-up: what it would warm is a small part of its time.
std::vector<Timed> race(const std::vector<Runner>& runners, Weights& weights, double budget) {
  std::vector<Timed> field;
  for (const Runner& runner : runners) field.push_back({&runner, {}});
  const double start = now();
  constexpr int kRounds = 9;
  constexpr double kLong = 20e-3;
  for (int round = 0; round < kRounds; ++round) {
    std::map<std::string, double> best;
    for (std::size_t i = 0; i < field.size(); ++i) {
      Timed& timed = field[(i + static_cast<std::size_t>(round)) % field.size()];
      double guess = round == 0 ? time_once(*timed.runner, weights, 1) : timed.best();
      if (round == 0 && guess < kLong) guess = time_once(*timed.runner, weights, 1);
      const int runs = std::clamp(static_cast<int>(2e-3 / guess), 1, 50);
      timed.seconds.push_back(round == 0 && runs == 1 ? guess
                                                      : time_once(*timed.runner, weights, runs));
    }
    for (const Timed& timed : field) {
      auto [entry, first] = best.try_emplace(timed.runner->group, timed.best());
      entry->second = std::min(entry->second, timed.best());
    }
    const double limit = round == 0 ? 1.3 : round < 3 ? 1.15 : 1.06;
    std::erase_if(field, [&](const Timed& timed) {
      return timed.best() > limit * best[timed.runner->group];
    });
    if (round >= 1 && seconds_since(start) > budget) break;
  }
  return field;
}

class Bench {
 public:
  Bench(const Arguments& arguments, int threads)
      : arguments_(arguments), threads_(threads), device_(Device::cpu(threads)) {}

  void run_shapes(const std::vector<Shape>& shapes, Report& report, DataType type,
                  double share_of_time) {
    const double start = now();
    Weights weights(type, std::size_t{960} << 20);
    std::size_t left = shapes.size() * arguments_.rows.size();
    for (const Shape& shape : shapes) {
      for (const std::int64_t m : arguments_.rows) {
        const double budget = (share_of_time - seconds_since(start)) / static_cast<double>(left--);
        const Problem problem = Problem::linear(m, shape.n, shape.k, type);
        report.add(measure(problem, shape, weights, std::max(0.02, 0.7 * budget)));
        report.sample_clock();
      }
    }
  }

 private:
  Row measure(const Problem& problem, const Shape& shape, Weights& weights, double budget) {
    const auto period = tune::random_period(problem.a.type, tune::Input::a, 1);
    const std::size_t size = static_cast<std::size_t>(size_bytes(problem.a.type));
    tune::Pages a(static_cast<std::size_t>(problem.m * problem.k) * size);
    tune::Pages d(static_cast<std::size_t>(problem.m * problem.n) * size);
    tune::fill_random(a.data(), 0, problem.m * problem.k, problem.a.type, period);
    const Operands x{.a = a.data(), .b = nullptr, .c = nullptr, .d = d.data(), .bias = nullptr};
    std::vector<Runner> runners = {reader(problem, device_, threads_)};
    add_family("cpu_packed", "own_plain", problem, x, arguments_.candidates, runners);
    Problem packed = problem;
    packed.b.packed = true;
    add_family("cpu_packed", "own_packed", packed, x, arguments_.candidates, runners);
    add_family("cpu_vendor", "onednn_plain", problem, x, 0, runners);
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
      if (entry == nullptr || timed.best() < entry->best()) entry = &timed;
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

  /// The library's choice among its candidates, by the least time; reported is the median, which
  /// it was not chosen by.
  static void add_chosen(const std::map<std::string, const Timed*>& best, Row& row) {
    const Timed* chosen = nullptr;
    for (const char* group : {"own_plain", "own_packed", "onednn_plain"}) {
      const auto found = best.find(group);
      if (found == best.end()) continue;
      if (chosen == nullptr || found->second->best() < chosen->best()) chosen = found->second;
    }
    row.us.emplace_back("chosen", chosen->median() * 1e6);
    row.kernel = chosen->runner->kernel;
  }

  void add_family(const char* name, const char* group, const Problem& problem, const Operands& x,
                  int most, std::vector<Runner>& runners) {
    const Family* family = families::find(name);
    if (family == nullptr || family->refuse(problem, device_)) return;
    std::vector<Refusal> refusals;
    std::vector<Candidate> ranked = model::rank(problem, device_, refusals);
    std::erase_if(ranked, [&](const Candidate& c) { return c.family != family; });
    for (const Candidate& candidate : model::prune(std::move(ranked), most)) {
      std::shared_ptr<const Kernel> kernel;
      try {
        kernel = family->build(problem, device_, candidate.configuration);
      } catch (const Error&) {
        continue;  // oneDNN says only here that it has no fast kernel
      }
      const std::size_t needed = kernel->workspace_bytes(problem);
      auto workspace = workspace_of(needed);
      const std::size_t bytes = problem.b.packed
                                    ? packed_weights_bytes(problem)
                                    : static_cast<std::size_t>(problem.n * problem.k) *
                                          static_cast<std::size_t>(size_bytes(problem.b.type));
      runners.push_back({group, label(candidate), bytes, [=](const void* weights) {
                           Operands operands = x;
                           operands.b = weights;
                           kernel->run(problem, operands, workspace->data(), {});
                         }});
    }
  }

  // One workspace serves all runners, since they run one after the other.
  std::shared_ptr<tune::Pages> workspace_of(std::size_t bytes) {
    if (!workspace_ || workspace_bytes_ < bytes) {
      workspace_bytes_ = std::max<std::size_t>(bytes, 1 << 20);
      workspace_ = std::make_shared<tune::Pages>(workspace_bytes_);
    }
    return workspace_;
  }

  const Arguments& arguments_;
  int threads_;
  Device device_;
  std::shared_ptr<tune::Pages> workspace_;
  std::size_t workspace_bytes_ = 0;
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
    clock_id = CLOCK_THREAD_CPUTIME_ID;
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
  // libgomp's threads would spin on the cores for milliseconds after each of oneDNN's calls.
  // It reads its environment when it is loaded, so this program starts once more.
  if (std::getenv("GOMP_SPINCOUNT") == nullptr) {
    setenv("GOMP_SPINCOUNT", "1000", 1);
    // OpenBLAS 0.3.21 does not know the CPUs that came after it, and falls back to SSE kernels.
    const auto features = gemwright::Device::cpu().profile().cpu.features;
    if (features.avx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    execv("/proc/self/exe", argv);
  }
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
