#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "device/calibrate.hpp"
#include "problem/extent.hpp"
#include "tune/tuner.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options {
  OutputOptions output;
  ProblemOptions problems;
  std::vector<std::string> kernels;
  double time_limit_s = 60;
};

// The first of the names that no candidate has; else empty.
std::string unknown(const std::vector<Candidate>& candidates,
                    const std::vector<std::string>& kernels) {
  for (const auto& kernel : kernels) {
    if (std::none_of(candidates.begin(), candidates.end(),
                     [&](const Candidate& c) { return is_named(c, kernel); })) {
      return kernel;
    }
  }
  return {};
}

std::vector<Candidate> candidates_of(const Problem& problem, const Device& device,
                                     const std::vector<std::string>& kernels) {
  std::vector<Refusal> refusals;
  auto candidates = model::rank(problem, device, refusals);
  if (const std::string missing = unknown(candidates, kernels); !missing.empty()) {
    refuse_name("--kernel", missing, problem, device, refusals);
  }
  if (!candidates.empty()) {
    std::erase_if(candidates, [&](const Candidate& c) {
      return !kernels.empty() && std::none_of(kernels.begin(), kernels.end(),
                                              [&](const auto& name) { return is_named(c, name); });
    });
    return candidates;
  }
  std::string text = "no kernel takes " + key(problem);
  for (const auto& refusal : refusals) {
    text += fmt::format("\n{}: {}", refusal.family, refusal.reason);
  }
  throw Unsupported(text);
}

// Fastest first, what failed last.
std::vector<const tune::Outcome*> sorted(const tune::Result& result) {
  std::vector<const tune::Outcome*> outcomes;
  for (const auto& outcome : result.outcomes) outcomes.push_back(&outcome);
  std::stable_sort(outcomes.begin(), outcomes.end(), [](const auto* a, const auto* b) {
    const auto order = [](const tune::Outcome& outcome) {
      return std::pair(outcome.median_us <= 0, outcome.median_us);
    };
    return order(*a) < order(*b);
  });
  return outcomes;
}

Json json_of_empty(const lists::Entry& entry) {
  Json json = to_json(entry);
  json["floor_us"] = 0;
  json["noise"] = 0;
  json["note"] = kEmptyResult;
  json["kernels"] = Json::array();
  return json;
}

Json json_of(const lists::Entry& entry, const tune::Result& result, double floor_us) {
  Json json = to_json(entry);
  json["floor_us"] = floor_us;
  json["noise"] = result.noise;
  if (!result.note.empty()) json["note"] = result.note;
  json["kernels"] = Json::array();
  for (const auto* outcome : sorted(result)) {
    Json kernel;
    kernel["kernel"] = label(outcome->candidate);
    kernel["predicted_us"] = outcome->candidate.estimate.us;
    kernel["best_us"] = outcome->best_us;
    kernel["median_us"] = outcome->median_us;
    kernel["rounds"] = outcome->rounds;
    if (!outcome->failure.empty()) kernel["failure"] = outcome->failure;
    json["kernels"].push_back(std::move(kernel));
  }
  return json;
}

// Of the kernel with the most; 0 when nothing was measured.
std::size_t rounds_of(const tune::Result& result) {
  std::size_t most = 0;
  for (const auto& outcome : result.outcomes) most = std::max(most, outcome.rounds);
  return most;
}

// Why nothing was measured.
std::string reason_of(const tune::Result& result) {
  for (const auto& outcome : result.outcomes) {
    if (result.note.empty() && !outcome.failure.empty()) return outcome.failure;
  }
  return result.note;
}

// What keeps the times from being compared as they are; empty where they can be.
std::string caution(const tune::Result& result, const tune::Policy& policy) {
  if (rounds_of(result) == 1) return "one round only: how far times scatter is not known";
  if (result.noise <= policy.band) return {};
  return fmt::format("noisy: times that differ by less than {:.0f} % are equal",
                     100 * result.noise);
}

void print(std::ostream& out, const Problem& problem, const tune::Result& result, double floor_us,
           const tune::Policy& policy) {
  const std::size_t rounds = rounds_of(result);
  out << fmt::format("floor {}, {}", time_text(floor_us), count_text(rounds, "round"));
  out << (rounds > 1 ? fmt::format(", noise {:.1f} %\n", 100 * result.noise) : "\n");
  Table table(
      {"kernel", "median", "best", "rounds", "predicted", "of floor", "math", "memory", "note"});
  for (const auto* outcome : sorted(result)) {
    const double us = outcome->median_us;
    table.add(
        {label(outcome->candidate), time_text(us), time_text(outcome->best_us),
         us > 0 ? std::to_string(outcome->rounds) : "-", time_text(outcome->candidate.estimate.us),
         percent_text(floor_us, us), us > 0 ? rate_text(problem.flops() / us * 1e6, "FLOP/s") : "-",
         us > 0 ? rate_text(problem.bytes() / us * 1e6, "B/s") : "-", one_line(outcome->failure)});
  }
  table.print(out);
  for (const auto& note : {result.note, caution(result, policy)}) {
    if (!note.empty()) out << "note: " << note << '\n';
  }
  out.flush();  // one problem after the other, also through a pipe
}

tune::Result measured(Context& context, const Options& options, const lists::Entry& entry,
                      const Device& device, const std::string& what) {
  const Problem problem = canonical(entry.problem).problem;
  tune::Request request;
  request.problem = &problem;
  request.device = &device;
  request.candidates = candidates_of(problem, device, options.kernels);
  request.time_limit_s = options.time_limit_s;
  request.cancelled = [&context] { return context.interrupted.load(); };
  ProgressLine line(context);
  request.progress = [&](int done, int total, const std::string& text) {
    line.show(fmt::format("{}  {}/{} {}", what, done, total, text));
  };
  return tune::tune(request);
}

int run_bench(Context& context, const Options& options) {
  const auto entries = options.problems.entries(context);
  context.keep_on_interrupt();
  const Device device = calibrated(options.output.present_device());
  Json json = Json::array();
  bool all_measured = true;
  std::size_t begun = 0;
  for (const auto& entry : entries) {
    if (context.interrupted) break;
    const std::string role = entry.role.empty() ? "" : entry.role + " ";
    const std::string what =
        fmt::format("[{}/{}] {}M={}", ++begun, entries.size(), role, entry.problem.m);
    const bool empty = has_empty_result(entry.problem);
    tune::Result result;
    double floor_us = 0;
    if (!empty) {
      result = measured(context, options, entry, device, what);
      if (rounds_of(result) == 0) {
        all_measured = false;
        context.err << fmt::format("gemwright: {}: nothing measured: {}\n", key(entry.problem),
                                   one_line(reason_of(result)));
      }
      floor_us = model::floor_us(canonical(entry.problem).problem, device);
    }
    if (options.output.json) {
      json.push_back(empty ? json_of_empty(entry) : json_of(entry, result, floor_us));
      continue;
    }
    if (begun > 1) context.out << '\n';
    context.out << (entry.role.empty() ? "" : entry.role + ": ") << key(entry.problem) << '\n';
    if (empty) {
      context.out << "nothing measured: " << kEmptyResult << '\n';
    } else {
      print(context.out, entry.problem, result, floor_us, tune::policy_of(device.kind()));
    }
  }
  if (options.output.json) context.out << document(json);
  if (context.interrupted) return kInterrupted;
  return all_measured ? kDone : kFailed;
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "bench", "Times named kernels, or all candidates of a problem; keeps nothing.");
  command->footer(R"(
All are checked against the reference, then measured interleaved, with cold weights. Ends with 1
when nothing of some problem could be measured.

Examples:
  gemwright bench --m 16 --n 4096 --k 4096 --dtype bf16
  gemwright bench --m 1 --n 4096 --k 4096 --kernel cpu_vendor --kernel cpu_reference
  gemwright bench --config models/llama-3.1-8b/config.json --only qkv --m 1,512 --json)");
  const auto options = std::make_shared<Options>();
  options->output.add_to(*command);
  options->problems.add_to(*command);
  command->add_option("--kernel", options->kernels,
                      "family or family/configuration; several times");
  command->add_option("--time-limit", options->time_limit_s, "seconds for one problem")
      ->check(positive())
      ->capture_default_str();
  command->callback([&context, options] {
    context.action = [&context, options] { return run_bench(context, *options); };
  });
}

}  // namespace gemwright::cli
