// Between the tuner's results, the store's records and the explanations that users read.
#pragma once

#include "model/rank.hpp"
#include "store/record.hpp"
#include "tune/tuner.hpp"
#include <gemwright/planner.hpp>

#include <string_view>
#include <vector>

namespace gemwright {

CandidateReport report_of(const Candidate& candidate);
Explanation explanation_of(const tune::Result& result, const Problem& problem, const Device& device,
                           std::vector<Refusal> refusals);
/// Without the candidates: they are read when somebody asks.
Explanation explanation_of(const store::Record& record);
/// The candidates of a Record::candidates_json.
std::vector<CandidateReport> stored_candidates(std::string_view json);
store::Record record_of(const tune::Result& result, const Explanation& explanation,
                        const Problem& problem, const Device& device);

}  // namespace gemwright
