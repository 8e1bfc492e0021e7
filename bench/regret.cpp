// How far the model's first choices are from the best of all configurations.
//
// Every own configuration of every problem is measured (interleaved rounds, cold weights; what is
// 1.5 times slower than the best is dropped early, which leaves the best exact). The regret of the
// top k is the least time among the k best predicted ones, over the least of all, minus 1.
//
// --keep writes all measured times to a file, problem by problem, and leaves out what is there
// already: a list too long for one sitting is measured in several. --from judges the present model
// on such a file, without measuring: that is how the cost functions are worked on.
#include "cli/text.hpp"
#include "device/calibrate.hpp"
#include "model/rank.hpp"
#include "support/options.hpp"
#include "support/shapes.hpp"
#include "tune/build.hpp"
#include "tune/measure.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gemwright::bench {
namespace {

constexpr std::array kTops = {1, 3, 5, 8};
// The oracle and its like: no model takes them for fast ones.
constexpr double kHopeless = 50;

struct Arguments {
  Options options;
  std::vector<std::string> models = {"llama-3.1-8b", "qwen3-30b-a3b", "flux.1-dev"};
  std::vector<std::int64_t> m = {1, 4, 16, 128, 512};
  std::vector<std::string> types = {"f32", "bf16"};
  std::vector<std::string> layouts = {"linear"};
  std::string keep;
  std::string from;
  double seconds = 1e9;
  std::size_t every = 1;
  bool verbose = false;
};

struct Item {
  std::string model;
  std::string role;
  Problem problem;
};

struct Measured {
  Item item;
  std::map<std::string, double> us;  // by "family/configuration"
  double vendor_first_us = 0;
  double noise = 0;
};

// B as a linear layer's weight W[n, k], as a row-major B[k, n], or packed for many products.
Problem problem_of(const std::string& layout, std::int64_t m, std::int64_t n, std::int64_t k,
                   DataType type) {
  if (layout == "mm") return canonical(Problem::mm(m, n, k, type)).problem;
  Problem problem = Problem::linear(m, n, k, type);
  problem.b.packed = layout == "packed";
  if (layout != "linear" && layout != "packed") {
    throw InvalidArgument("--layouts", layout, "linear, mm, packed");
  }
  return canonical(problem).problem;
}

std::vector<Item> items(const Arguments& arguments) {
  std::vector<Item> list;
  for (const std::string& model : arguments.models) {
    for (const Shape& shape : shapes_of(model)) {
      for (const std::int64_t m : arguments.m) {
        for (const std::string& type : arguments.types) {
          for (const std::string& layout : arguments.layouts) {
            list.push_back({model, shape.role,
                            problem_of(layout, m, shape.n, shape.k, parse_data_type(type))});
          }
        }
      }
    }
  }
  std::vector<Item> some;
  for (std::size_t i = 0; i < list.size(); i += arguments.every) some.push_back(list[i]);
  return some;
}

std::vector<Candidate> ranked(const Problem& problem, const Device& device) {
  std::vector<Refusal> refusals;
  std::vector<Candidate> list = model::rank(problem, device, refusals);
  if (list.empty()) throw Unsupported("no family takes " + key(problem));
  const double best = list.front().estimate.us;
  std::erase_if(list, [&](const Candidate& candidate) {
    return !candidate.family->vendor() && candidate.estimate.us > kHopeless * best;
  });
  return list;
}

Measured measure_all(const Item& item, const Device& device) {
  const std::vector<Candidate> candidates = ranked(item.problem, device);
  std::vector<const Candidate*> pointers;
  pointers.reserve(candidates.size());
  for (const Candidate& candidate : candidates) pointers.push_back(&candidate);
  const auto built = tune::build_all(item.problem, device, pointers);

  std::vector<tune::Timed> timed;
  std::vector<const Candidate*> who;
  for (std::size_t i = 0; i < built.size(); ++i) {
    if (!built[i].kernel) continue;
    // What the model is judged by is measured to the end, as the best of all is.
    const bool judged = candidates[i].family->vendor() || static_cast<int>(i) < kTops.back();
    timed.push_back({.family = candidates[i].family,
                     .kernel = built[i].kernel,
                     .label = label(candidates[i]),
                     .contender = {.always_final = judged, .samples = {}, .turns = {}},
                     .failure = {}});
    who.push_back(&candidates[i]);
  }
  const tune::Policy policy = tune::policy_of(device.kind());
  if (!tune::measure(item.problem, device, timed, policy, [] { return false; })) {
    throw Error("there is no memory to measure " + key(item.problem));
  }
  Measured result{item, {}, 0, 0};
  std::vector<tune::Contender> contenders;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const double us = tune::time_of(timed[i].contender, policy);
    contenders.push_back(timed[i].contender);
    if (us <= 0) continue;
    if (!who[i]->family->vendor()) {
      result.us[timed[i].label] = us;
    } else if (result.vendor_first_us == 0) {
      result.vendor_first_us = us;
    }
  }
  result.noise = tune::noise(contenders, policy);
  return result;
}

nlohmann::json to_json(const Measured& measured) {
  return {{"model", measured.item.model},
          {"role", measured.item.role},
          {"problem", key(measured.item.problem)},
          {"noise", measured.noise},
          {"vendor_first", measured.vendor_first_us},
          {"us", measured.us}};
}

std::vector<Measured> read_kept(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InvalidArgument("--from", path, "a file that --keep has written");
  std::vector<Measured> list;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    list.push_back(
        {{json.at("model"), json.at("role"), parse_problem(json.at("problem").get<std::string>())},
         json.at("us"),
         json.at("vendor_first"),
         json.at("noise")});
  }
  return list;
}

// The model's order against the measured times.
Row judge(const Measured& measured, const Device& device, bool verbose) {
  Row row = Row::of(measured.item.problem);
  row.model = measured.item.model;
  row.role = measured.item.role;
  double best = 1e30;
  for (const auto& [name, us] : measured.us) best = std::min(best, us);

  std::vector<std::pair<const Candidate*, double>> order;
  const std::vector<Candidate> candidates = ranked(measured.item.problem, device);
  for (const Candidate& candidate : candidates) {
    const auto found = measured.us.find(label(candidate));
    if (found != measured.us.end()) order.emplace_back(&candidate, found->second);
  }
  if (order.empty()) throw Error("nothing was measured of " + key(measured.item.problem));
  row.kernel = label(*order.front().first);
  row.us = {{"floor", model::floor_us(measured.item.problem, device)},
            {"predicted", order.front().first->estimate.us},
            {"own", best}};
  double least = 1e30;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::min(least, order[i].second);
    for (const int top : kTops) {
      const bool last = i + 1 == order.size() && static_cast<int>(i) < top - 1;
      if (static_cast<int>(i) == top - 1 || last)
        row.us.emplace_back(fmt::format("top{}", top), least);
    }
    if (verbose) {
      fmt::print("    {:40} predicted {:10.1f} measured {:10.1f}{}\n", label(*order[i].first),
                 order[i].first->estimate.us, order[i].second,
                 order[i].second <= best ? "  best" : "");
    }
  }
  row.us.emplace_back("vendor_first", measured.vendor_first_us);
  return row;
}

void print_summary(const Report& report, double noise) {
  cli::Table table({"model's", "mean regret", "worst"});
  for (const int top : kTops) {
    const std::string name = fmt::format("top{}", top);
    double worst = 0;
    for (const Row& row : report.rows()) {
      worst = std::max(worst, row.time(name) / row.time("own") - 1);
    }
    const double mean = report.geometric_mean(name, "own", [](const Row&) { return true; }) - 1;
    table.add({name, fmt::format("{:.2f}%", 100 * mean), fmt::format("{:.2f}%", 100 * worst)});
  }
  fmt::print("\n");
  table.print(std::cout);
  fmt::print("noise of the measurement (mean): {:.2f}%\n", 100 * noise);
}

// Measures what is not in `all` yet, adding it there and, line by line, to the file kept: an end
// before time loses nothing.
void measure_rest(const Arguments& arguments, const Device& device, Report& report,
                  std::vector<Measured>& all) {
  std::vector<Item> list = items(arguments);
  std::erase_if(list, [&](const Item& item) {
    return std::any_of(all.begin(), all.end(), [&](const Measured& measured) {
      return measured.item.problem == item.problem;
    });
  });
  std::ofstream kept;
  if (!arguments.keep.empty()) kept.open(arguments.keep, std::ios::app);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (spent.count() > arguments.seconds) break;
    all.push_back(measure_all(list[i], device));
    if (kept.is_open()) kept << to_json(all.back()).dump() << std::endl;
    report.sample_clock();
    fmt::print(stderr, "\r{} of {} problems", i + 1, list.size());
  }
  fmt::print(stderr, "\n");
}

int run(const Arguments& arguments) {
  const Device device = calibrated(Device::parse(arguments.options.device));
  Report report("regret", device);
  std::vector<Measured> all;
  if (!arguments.from.empty()) {
    all = read_kept(arguments.from);
  } else {
    if (std::filesystem::exists(arguments.keep)) all = read_kept(arguments.keep);
    measure_rest(arguments, device, report, all);
  }
  double noise = 0;
  for (const Measured& measured : all) {
    noise += measured.noise / static_cast<double>(all.size());
    if (arguments.verbose) fmt::print("{}\n", key(measured.item.problem));
    report.add(judge(measured, device, arguments.verbose));
  }
  if (arguments.from.empty()) {
    finish(report, arguments.options);
  } else {
    report.print();
  }
  print_summary(report, noise);
  return 0;
}

}  // namespace
}  // namespace gemwright::bench

int main(int argc, char** argv) {
  gemwright::bench::Arguments arguments;
  CLI::App app("Regret of the model: its first choices against the best of all configurations");
  arguments.options.add_to(app);
  app.add_option("--models", arguments.models, "models whose linear layers are measured")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--m", arguments.m, "rows")->delimiter(',')->capture_default_str();
  app.add_option("--types", arguments.types, "f32, f16, bf16")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--layouts", arguments.layouts, "of B: linear, mm, packed")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--keep", arguments.keep, "file to write all measured times to");
  app.add_option("--from", arguments.from, "file of --keep to judge the model on");
  app.add_option("--every", arguments.every, "only every so many-th problem of the list")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", arguments.seconds, "begin no further problem after so long");
  app.add_flag("-v,--verbose", arguments.verbose, "every configuration, in the model's order");
  CLI11_PARSE(app, argc, argv);
  try {
    return gemwright::bench::run(arguments);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    std::fputc('\n', stderr);
    return 1;
  }
}
