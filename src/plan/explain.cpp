#include "plan/explain.hpp"

#include "device/profile.hpp"
#include "store/record_json.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/chrono.h>

namespace gemwright {
namespace {

// How candidates are measured; kept with each record as its evidence.
constexpr const char* kPolicy =
    "cold weights (3x last-level cache), interleaved rounds, random normal data, faster half of "
    "rounds";

std::string now() {
  const auto time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

CandidateReport report_of(const tune::Outcome& outcome) {
  CandidateReport report = report_of(outcome.candidate);
  report.best_us = outcome.best_us;
  report.median_us = outcome.median_us;
  report.failure = outcome.failure;
  return report;
}

store::MeasuredCandidate measured_of(const tune::Outcome& outcome) {
  const Family& family = *outcome.candidate.family;
  return {.family = std::string(family.name()),
          .family_version = family.version(),
          .configuration_name = family.configuration_name(outcome.candidate.configuration),
          .configuration_json = families::to_json(family, outcome.candidate.configuration),
          .predicted_us = outcome.candidate.estimate.us,
          .best_us = outcome.best_us,
          .median_us = outcome.median_us,
          .vendor = family.vendor(),
          .failure = outcome.failure,
          .rule = {}};
}

CandidateReport report_of(const store::MeasuredCandidate& measured) {
  return {.family = measured.family,
          .configuration = measured.configuration_name,
          .predicted_us = measured.predicted_us,
          .bound = Bound::memory,
          .best_us = measured.best_us,
          .median_us = measured.median_us,
          .vendor = measured.vendor,
          .failure = measured.failure};
}

}  // namespace

CandidateReport report_of(const Candidate& candidate) {
  CandidateReport report;
  report.family = candidate.family->name();
  report.configuration = candidate.family->configuration_name(candidate.configuration);
  report.predicted_us = candidate.estimate.us;
  report.bound = candidate.estimate.bound;
  report.vendor = candidate.family->vendor();
  return report;
}

Explanation explanation_of(const tune::Result& result, const Problem& problem, const Device& device,
                           std::vector<Refusal> refusals) {
  Explanation explanation;
  explanation.source = Source::tuned;
  explanation.refusals = std::move(refusals);
  explanation.floor_us = model::floor_us(problem, device);
  explanation.margin = result.margin;
  explanation.noise = result.noise;
  explanation.note = result.note;
  for (const tune::Outcome& outcome : result.outcomes) {
    explanation.candidates.push_back(report_of(outcome));
    const double us = outcome.median_us;
    if (!outcome.candidate.family->vendor() || us <= 0 || result.disturbed) continue;
    if (explanation.vendor_first_us == 0) explanation.vendor_first_us = us;
    explanation.vendor_best_us =
        explanation.vendor_best_us == 0 ? us : std::min(explanation.vendor_best_us, us);
  }
  if (result.chosen >= 0) {
    explanation.chosen = explanation.candidates[static_cast<std::size_t>(result.chosen)];
  }
  return explanation;
}

Explanation explanation_of(const store::Record& record) {
  Explanation explanation;
  explanation.source = Source::store;
  explanation.chosen = report_of(record.chosen);
  explanation.floor_us = record.floor_us;
  explanation.vendor_first_us = record.vendor_first_us;
  explanation.vendor_best_us = record.vendor_best_us;
  explanation.margin = record.margin;
  explanation.noise = record.noise;
  explanation.note = record.note;
  return explanation;
}

Evidence stored_evidence(std::string_view json) {
  Evidence evidence;
  for (const auto& candidate : store::candidates_from_json(json)) {
    evidence.candidates.push_back(report_of(candidate));
    if (const auto rule = tune::parse_rule(candidate.rule)) {
      evidence.ruling = {.rule = *rule, .band = candidate.band};
    }
  }
  return evidence;
}

store::Record record_of(const tune::Result& result, const Explanation& explanation,
                        const Problem& problem, const Device& device) {
  store::Record record;
  record.problem = key(problem);
  record.device = device.key();
  std::vector<store::MeasuredCandidate> candidates;
  for (const tune::Outcome& outcome : result.outcomes) candidates.push_back(measured_of(outcome));
  auto& chosen = candidates[static_cast<std::size_t>(result.chosen)];
  record.chosen = chosen;
  if (result.ruling) {
    chosen.rule = tune::name(result.ruling->rule);
    chosen.band = result.ruling->band;
  }
  record.candidates_json = store::candidates_to_json(candidates);
  record.floor_us = explanation.floor_us;
  record.vendor_first_us = explanation.vendor_first_us;
  record.vendor_best_us = explanation.vendor_best_us;
  record.margin = result.margin;
  record.noise = result.noise;
  record.note = result.note;
  record.time_limit_s = result.cut_s;
  record.policy = kPolicy;
  record.version = GEMWRIGHT_VERSION;
  record.driver = device.profile().driver;
  record.date = now();
  return record;
}

}  // namespace gemwright
