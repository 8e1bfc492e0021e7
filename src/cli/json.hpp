// Public structures as JSON, for --json.
#pragma once

#include "lists/entry.hpp"
#include <gemwright/plan.hpp>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace gemwright::cli {

using Json = nlohmann::ordered_json;

/// model, role, problem (its key), m, n, k, batch, type, format and activations (null when dense),
/// count.
Json to_json(const lists::Entry& entry);
/// The same, and the answer: kernel, source, measured, us, floor_us, vendor_first_us,
/// vendor_best_us, margin, noise, note.
Json to_json(const lists::Entry& entry, const std::string& kernel, const Explanation& explanation);
Json to_json(const CandidateReport& candidate);
Json to_json(const Refusal& refusal);
/// {"count": all of them, "kinds": [{"role", "reason", "count"}]}.
Json to_json(const std::vector<lists::LeftOut>& left_out);
/// Indented, with a line break at the end; bytes that are not UTF-8 are replaced.
std::string document(const Json& json);

}  // namespace gemwright::cli
