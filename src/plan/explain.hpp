// Between the tuner's results, the store's records and the explanations that users read.
#pragma once

#include "model/rank.hpp"
#include "store/record.hpp"
#include "tune/tuner.hpp"
#include <gemwright/planner.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace gemwright {

CandidateReport report_of(const Candidate& candidate);
Explanation explanation_of(const tune::Result& result, const Problem& problem, const Device& device,
                           std::vector<Refusal> refusals);
/// Without the candidates: they are read when somebody asks.
Explanation explanation_of(const store::Record& record);

/// What a Record::candidates_json says. Without a ruling where none was recorded, or one by a rule
/// that this version does not know.
struct Evidence {
  std::vector<CandidateReport> candidates;
  std::optional<tune::Ruling> ruling;
};
Evidence stored_evidence(std::string_view json);

store::Record record_of(const tune::Result& result, const Explanation& explanation,
                        const Problem& problem, const Device& device);

}  // namespace gemwright
