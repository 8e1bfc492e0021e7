#include "cli/json.hpp"

namespace gemwright::cli {

Json to_json(const lists::Entry& entry) {
  Json json;
  json["model"] = entry.model;
  json["role"] = entry.role;
  json["problem"] = key(entry.problem);
  json["m"] = entry.problem.m;
  json["n"] = entry.problem.n;
  json["k"] = entry.problem.k;
  json["batch"] = entry.problem.batch;
  json["type"] = name(entry.problem.a.type);
  const bool dense = !entry.problem.weight;
  json["format"] = dense ? Json(nullptr) : Json(key(*entry.problem.weight));
  json["activations"] = dense ? Json(nullptr) : Json(name(entry.problem.activations));
  json["count"] = entry.count;
  return json;
}

Json to_json(const lists::Entry& entry, const std::string& kernel, const Explanation& explanation) {
  const CandidateReport& chosen = explanation.chosen;
  const bool measured = chosen.median_us > 0;
  Json json = to_json(entry);
  json["kernel"] = kernel;
  json["source"] = name(explanation.source);
  json["measured"] = measured;
  json["us"] = measured ? chosen.median_us : chosen.predicted_us;
  json["floor_us"] = explanation.floor_us;
  json["vendor_first_us"] = explanation.vendor_first_us;
  json["vendor_best_us"] = explanation.vendor_best_us;
  json["margin"] = explanation.margin;
  json["noise"] = explanation.noise;
  if (!explanation.note.empty()) json["note"] = explanation.note;
  return json;
}

Json to_json(const CandidateReport& candidate) {
  Json json;
  json["family"] = candidate.family;
  json["configuration"] = candidate.configuration;
  json["vendor"] = candidate.vendor;
  json["predicted_us"] = candidate.predicted_us;
  json["bound"] = name(candidate.bound);
  if (candidate.median_us > 0) {
    json["best_us"] = candidate.best_us;
    json["median_us"] = candidate.median_us;
  }
  if (!candidate.failure.empty()) json["failure"] = candidate.failure;
  return json;
}

Json to_json(const Refusal& refusal) {
  return {{"family", refusal.family}, {"reason", refusal.reason}};
}

Json to_json(const std::vector<lists::LeftOut>& left_out) {
  std::int64_t count = 0;
  Json kinds = Json::array();
  for (const auto& kind : left_out) {
    count += kind.count;
    kinds.push_back({{"role", kind.role}, {"reason", kind.reason}, {"count", kind.count}});
  }
  return {{"count", count}, {"kinds", std::move(kinds)}};
}

std::string document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gemwright::cli
