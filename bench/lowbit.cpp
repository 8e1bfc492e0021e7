// Low-bit weights. On a CPU: own kernels beside own bf16, oneDNN and OpenBLAS (support/lowbit_cpu).
// On a GPU: own kernels beside the vendor library's bf16 product of the same shape,
// cold weights, graph replay, interleaved rounds in one process, no kernel overlapping its
// neighbour.
//
// For every shape and format: the best own kernel, the vendor's first choice and its best of 8, and
// the roofline floor of the low-bit problem. Then geometric means for each M and format.
#include "cli/text.hpp"
#include "model/rank.hpp"
#include "support/checked.hpp"
#include "support/cpu_race.hpp"
#include "support/lowbit_cpu.hpp"
#include "support/options.hpp"
#include "support/shapes.hpp"
#include "tune/measure.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  Options options{.device = "cuda"};
  std::vector<std::string> models = {"llama-3.1-8b", "llama-3.3-70b", "flux.1-dev"};
  std::vector<std::int64_t> m = {1, 4, 16, 32, 64, 128, 512, 4096};
  std::vector<std::string> formats = {"nf4", "int4", "mxfp4", "nvfp4"};
  std::vector<std::string> sizes;  // "NxK": instead of the models'
  int own = 12;
  bool each = false;  // own of every family
  Activations activations = Activations::as_given;
  bool every = false;
  double seconds = 540;
};

Shape shape_of(const std::string& size) {
  std::int64_t n = 0, k = 0;
  char x = 0;
  std::istringstream text(size);
  if (!(text >> n >> x >> k) || x != 'x' || n <= 0 || k <= 0) {
    throw InvalidArgument("sizes", size, "N x K, for instance 4096x14336");
  }
  return {"size", size, n, k};
}

std::vector<Shape> shapes(const Arguments& arguments) {
  std::vector<Shape> list;
  for (const std::string& size : arguments.sizes) list.push_back(shape_of(size));
  if (!list.empty()) return distinct(std::move(list));
  for (const std::string& model : arguments.models) {
    for (const Shape& shape : shapes_of(model)) list.push_back(shape);
  }
  list.push_back({"square", "3072", 3072, 3072});
  list.push_back({"square", "4096", 4096, 4096});
  return distinct(std::move(list));
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool never() {
  return false;
}

// Kernels of one problem, each with its own repetitions over the testbed's rotating weights.
class Side {
 public:
  Side(const Problem& problem, const Device& device)
      : problem_(problem), device_(device), testbed_(tune::make_testbed(problem, device)) {}

  // Builds and checks; what fails is said and left out.
  void add(const std::vector<Candidate>& candidates) {
    for (const Checked& checked : build_checked(problem_, device_, candidates)) {
      const Candidate& candidate = candidates[checked.candidate];
      kernels_.push_back({checked.kernel,
                          candidate.family->configuration_name(candidate.configuration),
                          candidate.estimate.us, nullptr, 1});
    }
  }

  std::size_t size() const { return kernels_.size(); }
  const std::string& label(std::size_t i) const { return kernels_[i].label; }
  double predicted_us(std::size_t i) const { return kernels_[i].predicted_us; }

  // Seconds of the sample; the first also finds out how many runs make one.
  tune::SampleTime sample(std::size_t i) {
    constexpr double kSampleSeconds = 0.0015;
    constexpr int kProbe = 8;
    const auto start = Clock::now();
    Timed& timed = kernels_[i];
    if (!timed.rotation) {
      const double probe = testbed_->rotation(timed.kernel, kProbe)->seconds() / kProbe;
      timed.runs = std::clamp(static_cast<int>(std::ceil(kSampleSeconds / probe)), 1, 512);
      timed.rotation = testbed_->rotation(timed.kernel, timed.runs);
    }
    const double us = timed.rotation->seconds() * 1e6 / timed.runs;
    return {us, seconds_since(start)};
  }

 private:
  struct Timed {
    std::shared_ptr<const Kernel> kernel;
    std::string label;
    double predicted_us;
    std::unique_ptr<tune::Rotation> rotation;
    int runs;
  };

  Problem problem_;
  Device device_;
  std::unique_ptr<tune::Testbed> testbed_;
  std::vector<Timed> kernels_;
};

// The best predicted, of all families or (`each`) of every one.
std::vector<Candidate> own_candidates(const Problem& problem, const Device& device, int count,
                                      bool each) {
  std::vector<Refusal> refusals;
  auto ranked = model::rank(problem, device, refusals);
  if (each && count > 0) {
    std::map<const Family*, int> listed;
    std::erase_if(ranked, [&](const Candidate& one) { return ++listed[one.family] > count; });
    count = 0;
  }
  auto candidates = model::take_best(ranked, count);
  if (candidates.empty()) throw Unsupported("no family takes " + key(problem));
  return candidates;
}

std::vector<Candidate> vendor_candidates(const Problem& problem, const Device& device) {
  constexpr std::size_t kMost = 8;
  const Family& vendor = *families::find("cuda_vendor");
  std::vector<Candidate> candidates;
  for (const Configuration& configuration : vendor.configurations(problem, device)) {
    if (candidates.size() == kMost) break;
    candidates.push_back({&vendor, configuration, {}});
  }
  return candidates;
}

void print_every(const Problem& problem, const Side& side,
                 const std::vector<tune::Contender>& contenders) {
  fmt::print("{}\n", key(problem));
  for (std::size_t i = 0; i < side.size(); ++i) {
    fmt::print("  {:40} {:8.2f} us, predicted {:8.2f}\n", side.label(i),
               tune::median(contenders[i]), side.predicted_us(i));
  }
}

Row race(const Problem& low, const Problem& dense, const Device& device,
         const Arguments& arguments) {
  Side coded(low, device);
  Side plain(dense, device);
  coded.add(own_candidates(low, device, arguments.own, arguments.each));
  plain.add(vendor_candidates(dense, device));
  std::vector<tune::Contender> contenders(coded.size() + plain.size());
  if (plain.size() > 0) contenders[coded.size()].always_final = true;
  tune::run_rounds(
      contenders,
      [&](std::size_t i) {
        return std::optional(i < coded.size() ? coded.sample(i) : plain.sample(i - coded.size()));
      },
      tune::policy_of(device.kind()), never);
  if (arguments.every) print_every(low, coded, contenders);

  Row row = Row::of(low);
  double best_own = 0;
  double best_vendor = 0;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const double us = tune::median(contenders[i]);
    double& least = i < coded.size() ? best_own : best_vendor;
    if (us <= 0 || (least > 0 && us >= least)) continue;
    least = us;
    if (i < coded.size()) row.kernel = coded.label(i);
  }
  if (best_own > 0) row.us.emplace_back("own", best_own);
  if (plain.size() > 0) {
    row.us.emplace_back("vendor_first", tune::median(contenders[coded.size()]));
    row.us.emplace_back("vendor_best", best_vendor);
  }
  row.us.emplace_back("floor", model::floor_us(low, device));
  return row;
}

void print_means(const Report& report, const Arguments& arguments, bool cpu) {
  std::vector<std::string> head{"format", "M", "first / own", "best / own", "floor / own"};
  if (cpu) head.insert(head.end(), {"read / own", "own bf16 / own"});
  cli::Table table(head);
  for (const std::string& format : arguments.formats) {
    const bool rounded = arguments.activations != Activations::as_given;
    const std::string name = key(parse_weight_format(format)) + (rounded ? "-a8" : "");
    for (const std::int64_t m : arguments.m) {
      const auto here = [&](const Row& row) { return row.m == m && row.format == name; };
      const auto mean = [&](const char* over) {
        return fmt::format("{:.3f}", report.geometric_mean(over, "own", here));
      };
      std::vector<std::string> line{name, std::to_string(m), mean("vendor_first"),
                                    mean("vendor_best"), mean("floor")};
      if (cpu) line.insert(line.end(), {mean("read"), mean("own_bf16")});
      table.add(line);
    }
  }
  fmt::print("\nGeometric means\n");
  table.print(std::cout);
}

// Until time is up.
void measure_all(const Arguments& arguments, const Device& device, Report& report) {
  const auto start = Clock::now();
  for (const Shape& shape : shapes(arguments)) {
    for (const std::int64_t m : arguments.m) {
      for (const std::string& format : arguments.formats) {
        if (seconds_since(start) > arguments.seconds) {
          fmt::print("time is up: the rest is not measured\n");
          return;
        }
        const auto layer = [&](auto... weight) {
          return Problem::linear(m, shape.n, shape.k, DataType::bf16, weight...);
        };
        Problem low = layer(parse_weight_format(format));
        low.activations = arguments.activations;
        Row row = race(canonical(low).problem, canonical(layer()).problem, device, arguments);
        row.model = shape.model;
        row.role = shape.role;
        report.add(std::move(row));
        report.sample_clock();
      }
    }
  }
}

int run(const Arguments& arguments) {
  const Device device = Device::parse(arguments.options.device);
  Report report("lowbit", device);
  const bool cpu = device.kind() == DeviceKind::cpu;
  if (cpu) {
    measure_lowbit_cpu({.shapes = shapes(arguments),
                        .m = arguments.m,
                        .formats = arguments.formats,
                        .activations = arguments.activations,
                        .own = arguments.own,
                        .seconds = arguments.seconds},
                       device, report);
  } else {
    measure_all(arguments, device, report);
  }
  print_means(report, arguments, cpu);
  finish(report, arguments.options);
  return 0;
}

}  // namespace
}  // namespace gemwright::bench

int main(int argc, char** argv) {
  gemwright::bench::prepare_peers(argv);
  gemwright::bench::Arguments arguments;
  CLI::App app("Own low-bit GEMM kernels beside dense bf16 of the vendor library");
  arguments.options.add_to(app);
  app.add_option("--models", arguments.models)->delimiter(',')->capture_default_str();
  app.add_option("--m", arguments.m, "values of M")->delimiter(',')->capture_default_str();
  app.add_option("--formats", arguments.formats)->delimiter(',')->capture_default_str();
  app.add_option("--sizes", arguments.sizes, "NxK of weights, instead of the models'")
      ->delimiter(',');
  app.add_option("--activations", arguments.activations, "rounded to: as_given, e4m3 or int8")
      ->transform(CLI::CheckedTransformer(std::map<std::string, gemwright::Activations>{
          {"as_given", gemwright::Activations::as_given},
          {"e4m3", gemwright::Activations::e4m3},
          {"int8", gemwright::Activations::int8}}));
  app.add_flag("--every", arguments.every, "print every own candidate");
  app.add_option("--own", arguments.own, "own candidates a shape, the best predicted; 0: all")
      ->capture_default_str();
  app.add_flag("--each", arguments.each, "as many of every family as --own says");
  app.add_option("--seconds", arguments.seconds, "stop after that")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return gemwright::bench::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_lowbit: {}\n", error.what());
    return 1;
  }
}
