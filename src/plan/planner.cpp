#include "device/calibrate.hpp"
#include "files/environment.hpp"
#include "log/log.hpp"
#include "model/rank.hpp"
#include "plan/build.hpp"
#include "plan/explain.hpp"
#include "plan/plan_impl.hpp"
#include "problem/extent.hpp"
#include "store/database.hpp"
#include "tune/failures.hpp"
#include "tune/tuner.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/planner.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace gemwright {
namespace {

struct Built {
  std::shared_ptr<const Kernel> kernel;
  Explanation explanation;
  std::string candidates_json = {};  // of a record; else the explanation has them
  std::optional<tune::Ruling> ruling = {};
};

Plan make_plan(const Problem& given, const Canonical& form, const Device& device, Built built) {
  return Plan(std::make_shared<Plan::Impl>(given, form, device, std::move(built.kernel),
                                           std::move(built.explanation),
                                           std::move(built.candidates_json), built.ruling));
}

std::string all_refusals(const Problem& problem, const std::vector<Refusal>& refusals) {
  std::string text = "no kernel takes " + key(problem);
  for (const Refusal& refusal : refusals) {
    text += fmt::format("\n  {}: {}", refusal.family, refusal.reason);
  }
  return text;
}

// The record's kernel, unless its family is gone or changed, it failed since, or it no longer
// builds.
std::optional<Built> from_record(const store::Record& record, const Problem& problem,
                                 const Device& device, store::Database& database) {
  const Family* family = families::find(record.chosen.family);
  if (family == nullptr || family->version() != record.chosen.family_version) return std::nullopt;
  if (family->refuse(problem, device)) return std::nullopt;
  const auto passed_over = [&](const char* why, const std::string& what) {
    log::warn("stored {}/{} {}: {}", record.chosen.family, record.chosen.configuration_name, why,
              what);
    return std::nullopt;
  };
  try {
    const Configuration configuration =
        families::from_json(*family, record.chosen.configuration_json);
    const tune::Failures failures(&database, problem, device, false);
    const std::string failure = failures.remembered({family, configuration, {}});
    if (!failure.empty()) return passed_over("is not used", failure);
    return Built{family->build(problem, device, configuration), explanation_of(record),
                 record.candidates_json};
  } catch (const Error& error) {
    return passed_over("does not build", error.what());
  }
}

void check(const PlanOptions& options) {
  if (options.mode > Mode::store_only) {
    throw InvalidArgument("options.mode", std::to_string(static_cast<int>(options.mode)),
                          "tune, model or store_only");
  }
  if (options.mode == Mode::store_only && !options.force.empty()) {
    throw InvalidArgument("options.force", options.force,
                          "nothing with Mode::store_only, since what is forced is not stored; "
                          "Mode::model builds it without measuring");
  }
  if (options.max_candidates < 0) {
    throw InvalidArgument("options.max_candidates", std::to_string(options.max_candidates),
                          "0 (all) or more");
  }
  // Also refuses what is no number.
  if (!(options.time_limit_s > 0)) {
    throw InvalidArgument("options.time_limit_s", fmt::format("{}", options.time_limit_s),
                          "seconds above 0");
  }
}

std::vector<Candidate> only_forced(std::vector<Candidate> candidates, const std::string& force,
                                   const Problem& problem, const Device& device,
                                   const std::vector<Refusal>& refusals) {
  if (force.empty()) return candidates;
  std::erase_if(candidates, [&](const Candidate& c) { return !is_named(c, force); });
  if (candidates.empty()) refuse_name("options.force", force, problem, device, refusals);
  return candidates;
}

std::string all_failures(const Problem& problem, const Explanation& explanation) {
  std::string text = "every candidate failed for " + key(problem);
  for (const CandidateReport& report : explanation.candidates) {
    text += fmt::format("\n  {}/{}: {}", report.family, report.configuration, report.failure);
  }
  return text;
}

// The best predicted candidate that builds and is not known to fail. The explanation has what was
// tried before.
Built by_model(std::vector<Candidate> candidates, const Problem& problem, const Device& device,
               const tune::Failures& failures, Explanation explanation) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& x, const auto& y) { return x.estimate.us < y.estimate.us; });
  explanation.floor_us = model::floor_us(problem, device);
  const std::size_t tried = explanation.candidates.size();
  for (const Candidate& candidate : candidates) {
    explanation.candidates.push_back(report_of(candidate));
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    CandidateReport& report = explanation.candidates[tried + i];
    if (auto kernel = try_build(candidates[i], problem, device, failures, report.failure)) {
      explanation.chosen = report;
      return {std::move(kernel), std::move(explanation)};
    }
  }
  throw AllFailed(all_failures(problem, explanation));
}

// A stored answer whose tuning was cut short stays one, until somebody allows more time.
bool has_more_time(const PlanOptions& options, const store::Record& record) {
  return options.mode == Mode::tune && record.time_limit_s > 0 &&
         options.time_limit_s > record.time_limit_s;
}

// Where among the candidates the stored choice is; -1 when it is not there.
int incumbent_of(const std::vector<Candidate>& candidates, store::Database& database,
                 const Problem& problem, const Device& device) {
  const auto record = database.find(key(problem), device.key());
  if (!record) return -1;
  const auto stored =
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        return candidate.family->name() == record->chosen.family &&
               candidate.family->version() == record->chosen.family_version &&
               families::to_json(*candidate.family, candidate.configuration) ==
                   record->chosen.configuration_json;
      });
  return stored == candidates.end() ? -1 : static_cast<int>(stored - candidates.begin());
}

// The model's choice of those that were not tried, where all that were do not fit into memory or
// failed until time was up.
Built without_tuning(const tune::Result& result, std::vector<Candidate> ranked,
                     const Problem& problem, const Device& device, store::Database& database,
                     Explanation explanation) {
  for (const tune::Outcome& outcome : result.outcomes) {
    const std::string tried = label(outcome.candidate);
    std::erase_if(ranked, [&](const Candidate& candidate) { return label(candidate) == tried; });
  }
  explanation.note = result.short_of_memory
                         ? "not measured: better candidates do not fit into memory"
                         : "not measured: better candidates failed, and the time was up";
  const tune::Failures failures(&database, problem, device, false);
  return by_model(std::move(ranked), problem, device, failures, std::move(explanation));
}

Built by_tuning(std::vector<Candidate> ranked, const Problem& problem, const Device& device,
                store::Database& database, std::vector<Refusal> refusals,
                const PlanOptions& options, bool replace) {
  tune::Request request;
  request.problem = &problem;
  request.device = &device;
  request.candidates = ranked;
  request.own = options.max_candidates;
  request.time_limit_s = options.time_limit_s;
  request.progress = options.progress;
  request.cancelled = options.cancelled;
  request.database = &database;
  request.retry_failed = options.retune;
  if (replace) {
    request.incumbent = incumbent_of(request.candidates, database, problem, device);
  }
  const tune::Result result = tune::tune(request);
  Explanation explanation = explanation_of(result, problem, device, std::move(refusals));
  if (result.chosen < 0) {
    explanation.source = options.force.empty() ? Source::model : Source::forced;
    return without_tuning(result, std::move(ranked), problem, device, database,
                          std::move(explanation));
  }

  Built built{result.outcomes[static_cast<std::size_t>(result.chosen)].kernel,
              std::move(explanation),
              {},
              result.ruling};
  if (!options.force.empty()) {
    built.explanation.source = Source::forced;
    return built;
  }
  if (built.explanation.chosen.best_us <= 0) built.explanation.source = Source::model;
  if (!result.lasting) return built;
  const store::Record record = record_of(result, built.explanation, problem, device);
  const store::Record kept = database.keep(record, replace);
  if (const std::string trouble = database.trouble(); !trouble.empty()) {
    std::string& note = built.explanation.note;
    note += (note.empty() ? "not kept: " : "; not kept: ") + trouble;
  }
  if (kept.chosen.configuration_json != record.chosen.configuration_json ||
      kept.chosen.family != record.chosen.family) {
    // Another process was first: every process gives the same answer.
    if (auto other = from_record(kept, problem, device, database)) return *std::move(other);
  }
  return built;
}

}  // namespace

int PlanOptions::default_max_candidates() {
  constexpr int kDefault = 5;
  const std::string text = files::environment("GEMWRIGHT_MAX_CANDIDATES");
  if (text.empty()) return kDefault;
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || value < 0 || value > 1'000'000) {
    throw InvalidArgument("GEMWRIGHT_MAX_CANDIDATES", text, "0 (all) to 1000000");
  }
  return static_cast<int>(value);
}

Planner::Planner(Device device, Store store)
    : device_(std::move(device)), store_(std::move(store)) {}

Plan Planner::plan(const Problem& given, const PlanOptions& options) const {
  given.check();
  check(options);
  const Canonical form = canonical(given);
  const Problem& problem = form.problem;
  if (has_empty_result(problem)) {
    Explanation nothing;
    nothing.chosen = {.family = "none", .configuration = "empty", .failure = {}};
    return make_plan(given, form, device_, {nullptr, std::move(nothing)});
  }

  bool replace = options.retune;
  if (options.force.empty() && !options.retune) {
    if (const auto record = store_.database().find(key(problem), device_.key())) {
      auto built = has_more_time(options, *record)
                       ? std::nullopt
                       : from_record(*record, problem, device_, store_.database());
      if (built) return make_plan(given, form, device_, *std::move(built));
      replace = true;
    }
  }
  if (options.mode == Mode::store_only) {
    throw Unsupported("the store has no answer for " + key(problem) + " on " + device_.key());
  }

  // Whoever can wait for tuning can wait for the model's constants, once a machine.
  const Device device = options.mode == Mode::tune ? calibrated(device_) : device_;
  std::vector<Refusal> refusals;
  std::vector<Candidate> candidates = model::rank(problem, device, refusals);
  if (candidates.empty() && options.force.empty()) {
    throw Unsupported(all_refusals(problem, refusals));
  }
  candidates = only_forced(std::move(candidates), options.force, problem, device, refusals);

  const bool measure = options.mode == Mode::tune && problem.k > 0 && candidates.size() > 1;
  if (!measure) {
    Explanation explanation;
    explanation.source = options.force.empty() ? Source::model : Source::forced;
    explanation.refusals = std::move(refusals);
    // To try again is for whoever tunes: the model alone would not notice another failure.
    const bool retry = options.retune && options.mode == Mode::tune;
    const tune::Failures failures(&store_.database(), problem, device, retry);
    return make_plan(
        given, form, device,
        by_model(std::move(candidates), problem, device, failures, std::move(explanation)));
  }
  if (!device.present()) {
    throw Unsupported(device.name() +
                      " is described, not present: it can be planned for with "
                      "Mode::model, not tuned");
  }
  return make_plan(given, form, device,
                   by_tuning(std::move(candidates), problem, device, store_.database(),
                             std::move(refusals), options, replace));
}

CandidateList Planner::candidates(const Problem& given) const {
  given.check();
  const Canonical form = canonical(given);
  CandidateList list;
  if (has_empty_result(form.problem)) return list;
  list.floor_us = model::floor_us(form.problem, device_);
  for (const Candidate& candidate : model::rank(form.problem, device_, list.refusals)) {
    list.candidates.push_back(report_of(candidate));
  }
  return list;
}

}  // namespace gemwright
