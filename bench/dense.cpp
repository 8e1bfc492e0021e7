// Dense GEMM on a GPU: own kernels and the vendor library's, cold weights, graph replay,
// interleaved rounds in one process, no kernel overlapping its neighbour.
//
// For every shape: the best own kernel, what the tuner chooses among own and vendor ones, the
// vendor's first choice, its best of 8, the best kernel that batch-invariant problems may get, and
// the roofline floor. Then geometric means for each M.
//
// With --around three more tables, of the best own kernel and the vendor's first choice: in a chain
// of products in which each may begin before the one ahead ends; behind an elementwise kernel that
// lets nothing begin early (both kernels' time); and as plain launches into a stream.
#include "cli/text.hpp"
#include "model/rank.hpp"
#include "support/checked.hpp"
#include "support/options.hpp"
#include "support/shapes.hpp"
#include "tune/measure.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::bench {
namespace {

struct Arguments {
  Options options{.device = "cuda"};
  std::vector<std::string> models = {"llama-3.1-8b", "llama-3.3-70b", "qwen3-32b", "flux.1-dev"};
  std::vector<std::int64_t> m = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048, 4096, 8192};
  std::vector<int> tp = {1, 4, 8};
  std::string type = "bf16";
  int own = 12;
  double seconds = 540;
  bool quick = false;
  bool around = false;
  bool verbose = false;
};

struct Around {
  const char* bench;  // name of the results
  const char* title;
  tune::Scene scene;
};
const std::array kAround = {
    Around{"dense_chain", "A chain with dependent launch", {.early = Early::b}},
    Around{"dense_elementwise",
           "Behind an elementwise kernel (both kernels)",
           {.early = Early::b, .elementwise = true}},
    Around{"dense_launches", "Plain launches into a stream", {.launches = true}},
};

using Clock = std::chrono::steady_clock;

// Tensor parallelism is measured where it is used: on the 70B model.
std::vector<Shape> shapes(const Arguments& arguments) {
  std::vector<Shape> list;
  for (const std::string& model : arguments.models) {
    for (const int tp : arguments.tp) {
      if (tp > 1 && (model != "llama-3.3-70b" || arguments.quick)) continue;
      for (const Shape& shape : shapes_of(model, tp)) list.push_back(shape);
    }
  }
  list.push_back({"square", "2048", 2048, 2048});
  list.push_back({"square", "3072", 3072, 3072});
  return distinct(std::move(list));
}

// One shape's kernels, built, checked and timed.
class Race {
 public:
  Race(const Problem& problem, const Device& device, int own) : problem_(problem), device_(device) {
    std::vector<Refusal> refusals;
    auto ranked = model::rank(problem, device, refusals);
    candidates_ = model::take_best(ranked, own);
    if (candidates_.empty()) throw Unsupported("no family takes " + key(problem));
    add_invariant((own + 1) / 2);
  }

  void run(Row& row) {
    build();
    const auto never = [] { return false; };
    if (!tune::measure(problem_, device_, timed_, tune::policy_of(device_.kind()), never)) {
      throw Error("there is no memory to measure " + key(problem_));
    }
    report(row);
  }

  // The best own kernel and the vendor's first choice, as they stand after run().
  void run_in(const tune::Scene& scene, Row& row) const {
    std::vector<tune::Timed> pair;
    for (const bool vendor : {false, true}) {
      const tune::Timed* best = nullptr;
      for (std::size_t i = 0; i < timed_.size(); ++i) {
        if (candidates_[who_[i]].family->vendor() != vendor) continue;
        const bool better = best == nullptr || (!vendor && tune::median(timed_[i].contender) <
                                                               tune::median(best->contender));
        if (better && !timed_[i].contender.samples.empty()) best = &timed_[i];
      }
      if (best == nullptr) return;
      pair.push_back({.kernel = best->kernel,
                      .label = best->label,
                      .contender = {.always_final = true, .samples = {}, .turns = {}},
                      .failure = {}});
    }
    tune::Policy policy = tune::policy_of(device_.kind());
    policy.early_phase_s = 0.05;
    policy.final_phase_s = policy.noisy_phase_s = 0.15;
    const auto never = [] { return false; };
    if (!tune::measure(problem_, device_, pair, policy, never, scene)) return;
    row.kernel = pair[0].label;
    row.us = {{"own", tune::median(pair[0].contender)},
              {"vendor_first", tune::median(pair[1].contender)}};
  }

  void print() const {
    for (std::size_t i = 0; i < timed_.size(); ++i) {
      fmt::print("    {:<60} predicted {:9.2f}  best {:9.2f}  median {:9.2f}  {} rounds\n",
                 timed_[i].label, candidates_[who_[i]].estimate.us, tune::best(timed_[i].contender),
                 tune::median(timed_[i].contender), timed_[i].contender.samples.size());
    }
  }

 private:
  // The best predicted ones of the batch-invariant mode, where they are not there anyhow.
  void add_invariant(int own) {
    Problem invariant = problem_;
    invariant.batch_invariant = true;
    std::vector<Refusal> refusals;
    auto ranked = model::rank(invariant, device_, refusals);
    for (const Candidate& candidate : model::take_best(ranked, own)) {
      const auto same = [&](const Candidate& other) { return label(other) == label(candidate); };
      const auto at = std::find_if(candidates_.begin(), candidates_.end(), same);
      invariant_.insert(static_cast<std::size_t>(at - candidates_.begin()));
      if (at == candidates_.end()) candidates_.push_back(candidate);
    }
  }

  void build() {
    bool vendor_seen = false;
    for (const Checked& checked : build_checked(problem_, device_, candidates_)) {
      const Candidate& candidate = candidates_[checked.candidate];
      const bool vendor = candidate.family->vendor();
      timed_.push_back(
          {.kernel = checked.kernel,
           .label = label(candidate),
           .contender = {.always_final = vendor && !vendor_seen, .samples = {}, .turns = {}},
           .failure = {}});
      vendor_seen = vendor_seen || vendor;
      who_.push_back(checked.candidate);
    }
  }

  void report(Row& row) const {
    std::vector<tune::Contender> contenders;
    std::vector<std::size_t> preference;
    double own = 0;
    double vendor_first = 0;
    double vendor_best = 0;
    double invariant = 0;
    const auto least = [](double& into, double us) {
      if (us > 0 && (into == 0 || us < into)) into = us;
    };
    for (std::size_t i = 0; i < timed_.size(); ++i) {
      contenders.push_back(timed_[i].contender);
      preference.push_back(i);
      const double us = tune::median(timed_[i].contender);
      if (!candidates_[who_[i]].family->vendor()) {
        least(own, us);
        if (invariant_.contains(who_[i])) least(invariant, us);
      } else {
        if (vendor_first == 0) vendor_first = us;
        least(vendor_best, us);
      }
    }
    const auto choice = tune::choose(contenders, preference, tune::policy_of(device_.kind()));
    const auto set = [&](const char* name, double us) {
      if (us > 0) row.us.emplace_back(name, us);
    };
    if (choice.index >= 0) {
      const auto chosen = static_cast<std::size_t>(choice.index);
      set("chosen", tune::median(contenders[chosen]));
      row.kernel = timed_[chosen].label;
    }
    set("own", own);
    set("vendor_first", vendor_first);
    set("vendor_best", vendor_best);
    set("invariant", invariant);
    set("floor", model::floor_us(problem_, device_));
  }

  Problem problem_;
  Device device_;
  std::vector<Candidate> candidates_;
  std::set<std::size_t> invariant_;  // candidates that batch-invariant problems may get
  std::vector<tune::Timed> timed_;
  std::vector<std::size_t> who_;  // candidate of each timed kernel
};

void print_means(const Report& report, const Arguments& arguments) {
  cli::Table table(
      {"M", "first / chosen", "first / own", "best / own", "floor / chosen", "invariant / own"});
  for (const std::int64_t m : arguments.m) {
    const auto here = [&](const Row& row) { return row.m == m; };
    const auto mean = [&](const char* over, const char* of) {
      return fmt::format("{:.3f}", report.geometric_mean(over, of, here));
    };
    table.add({std::to_string(m), mean("vendor_first", "chosen"), mean("vendor_first", "own"),
               mean("vendor_best", "own"), mean("floor", "chosen"), mean("invariant", "own")});
  }
  fmt::print("\nGeometric means\n");
  table.print(std::cout);
}

void print_means_around(const Report& report, const Around& around, const Arguments& arguments) {
  cli::Table table({"M", "vendor first / own"});
  for (const std::int64_t m : arguments.m) {
    const double mean =
        report.geometric_mean("vendor_first", "own", [&](const Row& row) { return row.m == m; });
    if (mean > 0) table.add({std::to_string(m), fmt::format("{:.3f}", mean)});
  }
  fmt::print("\n{}\n", around.title);
  table.print(std::cout);
}

// One table each; `around` has those of kAround.
struct Reports {
  explicit Reports(const Device& device) : main("dense", device) {
    for (const Around& scene : kAround) around.emplace_back(scene.bench, device);
  }
  Report main;
  std::vector<Report> around;
};

void measure_one(const Shape& shape, std::int64_t m, const Device& device,
                 const Arguments& arguments, Reports& reports) {
  const Problem problem =
      canonical(Problem::linear(m, shape.n, shape.k, parse_data_type(arguments.type))).problem;
  Row row = Row::of(problem);
  row.model = shape.model;
  row.role = shape.role;
  row.m = m, row.n = shape.n, row.k = shape.k;
  Race race(problem, device, arguments.own);
  const Row empty = row;
  race.run(row);
  if (arguments.verbose) {
    fmt::print("{} {} {}\n", m, shape.n, shape.k);
    race.print();
  }
  reports.main.add(std::move(row));
  reports.main.sample_clock();
  if (!arguments.around) return;
  for (std::size_t i = 0; i < kAround.size(); ++i) {
    Row around = empty;
    race.run_in(kAround[i].scene, around);
    if (!around.us.empty()) reports.around[i].add(std::move(around));
    reports.around[i].sample_clock();
  }
}

void finish_all(const Reports& reports, const Arguments& arguments) {
  print_means(reports.main, arguments);
  finish(reports.main, arguments.options);
  for (std::size_t i = 0; arguments.around && i < kAround.size(); ++i) {
    print_means_around(reports.around[i], kAround[i], arguments);
    finish(reports.around[i], arguments.options);
  }
}

// Until time is up.
void measure_all(const Arguments& arguments, const Device& device, Reports& reports) {
  const auto start = Clock::now();
  for (const Shape& shape : shapes(arguments)) {
    for (const std::int64_t m : arguments.m) {
      if (std::chrono::duration<double>(Clock::now() - start).count() > arguments.seconds) {
        fmt::print("time is up: the rest is not measured\n");
        return;
      }
      measure_one(shape, m, device, arguments, reports);
    }
  }
}

int run(const Arguments& arguments) {
  const Device device = Device::parse(arguments.options.device);
  Reports reports(device);
  measure_all(arguments, device, reports);
  finish_all(reports, arguments);
  return 0;
}

}  // namespace
}  // namespace gemwright::bench

int main(int argc, char** argv) {
  gemwright::bench::Arguments arguments;
  CLI::App app("Own dense GEMM kernels beside the vendor library's, on a GPU");
  arguments.options.add_to(app);
  app.add_option("--models", arguments.models)->delimiter(',')->capture_default_str();
  app.add_option("--m", arguments.m, "values of M")->delimiter(',')->capture_default_str();
  app.add_option("--tp", arguments.tp, "GPUs that the 70B model is divided over")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--type", arguments.type)->capture_default_str();
  app.add_option("--own", arguments.own, "own candidates a shape, the best predicted; 0: all")
      ->capture_default_str();
  app.add_option("--seconds", arguments.seconds, "stop after that")->capture_default_str();
  app.add_flag("--quick", arguments.quick, "no tensor-parallel shapes");
  app.add_flag("--around", arguments.around, "also the tables of other surroundings");
  app.add_flag("--verbose", arguments.verbose, "every candidate's times");
  CLI11_PARSE(app, argc, argv);
  try {
    return gemwright::bench::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_dense: {}\n", error.what());
    return 1;
  }
}
