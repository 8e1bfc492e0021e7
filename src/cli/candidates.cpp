#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "problem/extent.hpp"
#include <gemwright/planner.hpp>

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gemwright::cli {
namespace {

struct Options {
  OutputOptions output;
  ProblemOptions problems;
  int top = 10;
};

Json json_of(const lists::Entry& entry, const CandidateList& list) {
  Json json = to_json(entry);
  json["floor_us"] = list.floor_us;
  json["candidates"] = Json::array();
  for (const auto& candidate : list.candidates) json["candidates"].push_back(to_json(candidate));
  if (has_empty_result(entry.problem)) json["note"] = kEmptyResult;
  json["refusals"] = Json::array();
  for (const auto& refusal : list.refusals) json["refusals"].push_back(to_json(refusal));
  return json;
}

void print(Context& context, const lists::Entry& entry, const CandidateList& list, int top) {
  context.out << (entry.role.empty() ? "" : entry.role + ": ") << key(entry.problem) << '\n';
  if (has_empty_result(entry.problem)) {
    context.out << "no candidates: " << kEmptyResult << '\n';
    return;
  }
  context.out << fmt::format("floor {}, {}\n", time_text(list.floor_us),
                             count_text(list.candidates.size(), "candidate"));
  Table table({"", "kernel", "predicted", "of floor", "bound"});
  // The vendor's are shown whatever their place.
  std::vector<CandidateReport> ranked = list.candidates;
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.predicted_us < b.predicted_us; });
  int rank = 0;
  int left_out = 0;
  for (const auto& candidate : ranked) {
    if (++rank > top && top > 0 && !candidate.vendor) {
      ++left_out;
      continue;
    }
    table.add({std::to_string(rank), candidate.family + "/" + candidate.configuration,
               time_text(candidate.predicted_us),
               percent_text(list.floor_us, candidate.predicted_us),
               std::string(name(candidate.bound))});
  }
  table.print(context.out);
  if (left_out > 0) context.out << fmt::format("   and {} more (--top 0: all)\n", left_out);
  for (const auto& refusal : list.refusals) {
    context.out << fmt::format("refused  {}: {}\n", refusal.family, refusal.reason);
  }
}

int run_candidates(Context& context, const Options& options) {
  const Planner planner(options.output.device(), Store::none());
  Json json = Json::array();
  bool all_found = true;
  bool first = true;
  for (const auto& entry : options.problems.entries(context)) {
    const CandidateList list = planner.candidates(entry.problem);
    all_found = all_found && (!list.candidates.empty() || has_empty_result(entry.problem));
    if (options.output.json) {
      json.push_back(json_of(entry, list));
      continue;
    }
    if (!first) context.out << '\n';
    first = false;
    print(context, entry, list, options.top);
  }
  if (options.output.json) context.out << document(json);
  return all_found ? kDone : kNothingFound;
}

}  // namespace

void add_candidates(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "candidates", "Kernels that take a problem, with predicted times; runs nothing.");
  command->footer(R"(
Ends with 3 when some problem has no candidate.

Examples:
  gemwright candidates --m 16 --n 4096 --k 4096 --dtype bf16
  gemwright candidates --m 1 --n 4096 --k 4096 --device h200 --top 0
  gemwright candidates --config models/qwen3-32b/config.json --only down --json)");
  const auto options = std::make_shared<Options>();
  options->output.add_to(*command);
  options->problems.add_to(*command);
  command
      ->add_option("--top", options->top,
                   "how many to print, and the vendor's; 0: all; --json has all")
      ->check(whole(0, 1'000'000))
      ->capture_default_str();
  command->callback([&context, options] {
    context.action = [&context, options] { return run_candidates(context, *options); };
  });
}

}  // namespace gemwright::cli
