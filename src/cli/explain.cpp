#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "device/calibrate.hpp"
#include "families/family.hpp"
#include "plan/plan_impl.hpp"
#include <gemwright/planner.hpp>

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options {
  OutputOptions output;
  StoreOptions store;
  ProblemOptions problems;
  bool tune = false;
};

std::string kernel_of(const CandidateReport& candidate) {
  return candidate.family + "/" + candidate.configuration;
}

// A plan's explanation, with what only the model knows added where it came from the store: the
// bounds of candidates and who was refused.
Explanation completed(const Plan& plan, const CandidateList& list) {
  Explanation explanation = plan.explanation();
  const auto complete = [&list](CandidateReport& report) {
    for (const auto& candidate : list.candidates) {
      if (kernel_of(candidate) == kernel_of(report)) report.bound = candidate.bound;
    }
  };
  complete(explanation.chosen);
  for (auto& candidate : explanation.candidates) complete(candidate);
  explanation.refusals = list.refusals;
  std::stable_sort(explanation.candidates.begin(), explanation.candidates.end(),
                   [](const CandidateReport& a, const CandidateReport& b) {
                     const auto order = [](const CandidateReport& report) {
                       return std::pair(report.median_us <= 0, report.median_us);
                     };
                     return order(a) < order(b);
                   });
  return explanation;
}

// The fastest that is not the chosen one, which the margin is over; null when there is none.
const CandidateReport* second(const Explanation& explanation) {
  const CandidateReport* found = nullptr;
  for (const auto& candidate : explanation.candidates) {
    if (candidate.median_us <= 0 || kernel_of(candidate) == kernel_of(explanation.chosen)) continue;
    if (found == nullptr || candidate.median_us < found->median_us) found = &candidate;
  }
  return found;
}

Json json_of(const lists::Entry& entry, const std::string& kernel, const Explanation& explanation,
             const BuildReport& report) {
  Json json = to_json(entry, kernel, explanation);
  json["chosen"] = to_json(explanation.chosen);
  if (!explanation.reason.empty()) json["reason"] = explanation.reason;
  if (!explanation.rule.empty()) {
    json["rule"] = explanation.rule;
    json["band"] = explanation.band;
  }
  if (report.registers > 0) {
    json["built"] = {{"registers", report.registers},
                     {"spill_bytes", report.spill_bytes},
                     {"shared_bytes", report.shared_bytes},
                     {"dynamic_shared_bytes", report.dynamic_shared_bytes},
                     {"compile_ms", report.compile_ms},
                     {"warnings", report.log}};
  }
  json["candidates"] = Json::array();
  for (const auto& candidate : explanation.candidates) {
    json["candidates"].push_back(to_json(candidate));
  }
  json["refusals"] = Json::array();
  for (const auto& refusal : explanation.refusals) json["refusals"].push_back(to_json(refusal));
  return json;
}

void print_why(std::ostream& out, const Explanation& explanation) {
  const CandidateReport& chosen = explanation.chosen;
  if (chosen.family == "none") {
    out << "chosen   none: " << kEmptyResult << '\n';
    return;
  }
  out << fmt::format("chosen   {}: {}{}\n", kernel_of(chosen), explanation.reason,
                     explanation.source == Source::model ? " (see --tune)" : "");
  const bool measured = chosen.median_us > 0;
  const double us = measured ? chosen.median_us : chosen.predicted_us;
  out << fmt::format("time     {}{}, {} of the floor's speed ({}); bound by {}\n",
                     measured ? "" : "predicted ", time_text(us),
                     percent_text(explanation.floor_us, us), time_text(explanation.floor_us),
                     name(chosen.bound));
  if (explanation.vendor_first_us > 0) {
    out << fmt::format(
        "vendor   first choice {} ({}x), best {} ({}x)\n", time_text(explanation.vendor_first_us),
        ratio_text(explanation.vendor_first_us, us), time_text(explanation.vendor_best_us),
        ratio_text(explanation.vendor_best_us, us));
  }
  if (!explanation.note.empty()) out << "note     " << explanation.note << '\n';
  if (const auto* next = second(explanation)) {
    out << fmt::format(
        "margin   {:.1f} % over {}, faster halves of the rounds compared; noise {:.1f} %{}\n",
        100 * explanation.margin, kernel_of(*next), 100 * explanation.noise,
        explanation.margin > 0 && explanation.margin < explanation.noise
            ? ", so that the earlier answer, else the model's order, decides"
            : "");
  }
}

// What the compiler said of the chosen kernel; nothing for those that came with the library.
void print_built(std::ostream& out, const BuildReport& report) {
  if (report.registers == 0) return;
  out << fmt::format(
      "built    {} registers, {} spilled, shared memory {} static and {} dynamic, {}\n",
      report.registers, bytes_text(report.spill_bytes),
      bytes_text(static_cast<double>(report.shared_bytes)),
      bytes_text(static_cast<double>(report.dynamic_shared_bytes)),
      report.compile_ms > 0 ? fmt::format("compiled in {}", time_text(1e3 * report.compile_ms))
                            : "from the cache");
  if (!report.log.empty()) out << fmt::format("warning  {}\n", one_line(report.log));
}

void print_candidates(std::ostream& out, const Explanation& explanation) {
  constexpr int kMost = 10;
  Table table({"", "kernel", "predicted", "measured", "bound"});
  int rank = 0;
  int left_out = 0;
  for (const auto& candidate : explanation.candidates) {
    if (!candidate.failure.empty()) continue;
    if (++rank > kMost && candidate.median_us <= 0) {
      ++left_out;
      continue;
    }
    table.add({std::to_string(rank), kernel_of(candidate), time_text(candidate.predicted_us),
               time_text(candidate.median_us), std::string(name(candidate.bound))});
  }
  table.print(out);
  if (left_out > 0) out << fmt::format("   and {} more, predicted slower\n", left_out);
  for (const auto& candidate : explanation.candidates) {
    if (candidate.failure.empty()) continue;
    out << fmt::format("dropped  {}: {}\n", kernel_of(candidate), one_line(candidate.failure));
  }
  for (const auto& refusal : explanation.refusals) {
    out << fmt::format("refused  {}: {}\n", refusal.family, refusal.reason);
  }
}

int run_explain(Context& context, const Options& options) {
  const Device device = options.tune ? options.output.present_device() : options.output.device();
  const Planner planner(options.tune ? calibrated(device) : device, options.store.store());
  PlanOptions plan_options;
  plan_options.mode = options.tune ? Mode::tune : Mode::model;
  plan_options.cancelled = [&context] { return context.interrupted.load(); };

  Json json = Json::array();
  bool first = true;
  const auto entries = options.problems.entries(context);
  context.keep_on_interrupt();
  for (const auto& entry : entries) {
    if (context.interrupted) return kInterrupted;
    const Plan plan = planner.plan(entry.problem, plan_options);
    const Explanation explanation = completed(plan, planner.candidates(entry.problem));
    const auto& kernel = plan.impl().kernel;
    const BuildReport report = kernel ? kernel->report() : BuildReport{};
    if (options.output.json) {
      json.push_back(json_of(entry, plan.kernel(), explanation, report));
      continue;
    }
    if (!first) context.out << '\n';
    first = false;
    context.out << fmt::format("problem  {}{} on {}\n", entry.role.empty() ? "" : entry.role + ": ",
                               key(entry.problem), device.name());
    print_why(context.out, explanation);
    print_built(context.out, report);
    print_candidates(context.out, explanation);
  }
  if (options.output.json) context.out << document(json);
  return kDone;
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "explain", "Why a plan is what it is: who was refused, ranked, measured, and by how much.");
  command->footer(R"(
Explains the stored answer, else the model's; measures only with --tune.

Examples:
  gemwright explain --m 16 --n 4096 --k 4096 --dtype bf16
  gemwright explain --config models/llama-3.1-8b/config.json --m 1 --only down --tune
  gemwright explain --m 8192 --n 8192 --k 8192 --device h200 --json)");
  const auto options = std::make_shared<Options>();
  options->output.add_to(*command);
  options->store.add_to(*command);
  options->problems.add_to(*command);
  command->add_flag("--tune", options->tune, "tune first, unless the store has an answer");
  command->callback([&context, options] {
    context.action = [&context, options] { return run_explain(context, *options); };
  });
}

}  // namespace gemwright::cli
