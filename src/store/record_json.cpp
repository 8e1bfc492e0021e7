#include "store/record_json.hpp"

#include <gemwright/errors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gemwright::store {
namespace {

double finite(double value) {
  return std::isfinite(value) ? value : 0.0;
}

std::string shortened(const Json& json) {
  constexpr std::size_t kLongest = 60;
  std::string text = dump(json);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

// One object that is read field by field.
class Reader {
 public:
  Reader(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) throw InvalidArgument(place_, shortened(json), "an object");
  }

  std::string text(const char* name) const {
    const Json& value = field(name, "a string");
    if (!value.is_string()) throw InvalidArgument(inside(name), shortened(value), "a string");
    return value.get<std::string>();
  }

  double number(const char* name) const {
    const Json& value = field(name, "a number of at least 0");
    const double number = value.is_number() ? value.get<double>() : -1.0;
    if (!(number >= 0.0) || !std::isfinite(number)) {
      throw InvalidArgument(inside(name), shortened(value), "a number of at least 0");
    }
    return number;
  }

  int integer(const char* name) const {
    const double number = this->number(name);
    if (number != std::floor(number) || number > std::numeric_limits<int>::max()) {
      throw InvalidArgument(inside(name), shortened(json_[name]), "a whole number");
    }
    return static_cast<int>(number);
  }

  bool boolean(const char* name) const {
    const Json& value = field(name, "true or false");
    if (!value.is_boolean()) throw InvalidArgument(inside(name), shortened(value), "true or false");
    return value.get<bool>();
  }

  const Json& field(const char* name, const char* allowed) const {
    const auto found = json_.find(name);
    if (found == json_.end()) throw InvalidArgument(inside(name), "nothing", allowed);
    return *found;
  }

  std::string inside(const char* name) const { return place_ + "." + name; }

 private:
  const Json& json_;
  std::string place_;
};

Json candidate_to_json(const MeasuredCandidate& candidate) {
  Json json;
  json["family"] = candidate.family;
  json["family_version"] = candidate.family_version;
  json["configuration"] = candidate.configuration_name;
  const Json parameters = Json::parse(candidate.configuration_json, nullptr, false);
  json["parameters"] = parameters.is_object() ? parameters : Json::object();
  json["predicted_us"] = finite(candidate.predicted_us);
  json["best_us"] = finite(candidate.best_us);
  json["median_us"] = finite(candidate.median_us);
  json["vendor"] = candidate.vendor;
  if (!candidate.failure.empty()) json["failure"] = candidate.failure;
  if (!candidate.rule.empty()) {
    json["rule"] = candidate.rule;
    json["band"] = finite(candidate.band);
  }
  return json;
}

MeasuredCandidate candidate_from_json(const Json& json, const std::string& place) {
  const Reader reader(json, place);
  MeasuredCandidate candidate;
  candidate.family = reader.text("family");
  candidate.family_version = reader.integer("family_version");
  candidate.configuration_name = reader.text("configuration");
  const Json& parameters = reader.field("parameters", "an object");
  if (!parameters.is_object()) {
    throw InvalidArgument(reader.inside("parameters"), shortened(parameters), "an object");
  }
  for (const auto& [name, value] : parameters.items()) {
    if (!value.is_number_integer()) {
      throw InvalidArgument(reader.inside("parameters") + "." + name, shortened(value),
                            "a whole number");
    }
  }
  candidate.configuration_json = dump(parameters);
  candidate.predicted_us = reader.number("predicted_us");
  candidate.best_us = reader.number("best_us");
  candidate.median_us = reader.number("median_us");
  candidate.vendor = reader.boolean("vendor");
  if (json.contains("failure")) candidate.failure = reader.text("failure");
  if (json.contains("rule")) {
    candidate.rule = reader.text("rule");
    candidate.band = reader.number("band");
  }
  return candidate;
}

std::vector<MeasuredCandidate> candidates_from_json(const Json& json, const std::string& place) {
  if (!json.is_array()) throw InvalidArgument(place, shortened(json), "an array");
  std::vector<MeasuredCandidate> candidates;
  for (std::size_t i = 0; i < json.size(); ++i) {
    candidates.push_back(candidate_from_json(json[i], place + "[" + std::to_string(i) + "]"));
  }
  return candidates;
}

}  // namespace

std::string candidates_to_json(const std::vector<MeasuredCandidate>& candidates) {
  Json json = Json::array();
  for (const auto& candidate : candidates) json.push_back(candidate_to_json(candidate));
  return dump(json);
}

std::vector<MeasuredCandidate> candidates_from_json(std::string_view json) {
  return candidates_from_json(Json::parse(json, nullptr, false), "candidates");
}

Json to_json(const Record& record) {
  Json json;
  json["problem"] = record.problem;
  json["device"] = record.device;
  json["chosen"] = candidate_to_json(record.chosen);
  json["candidates"] = Json::parse(record.candidates_json);
  json["floor_us"] = finite(record.floor_us);
  json["vendor_first_us"] = finite(record.vendor_first_us);
  json["vendor_best_us"] = finite(record.vendor_best_us);
  json["margin"] = std::max(0.0, finite(record.margin));
  json["noise"] = std::max(0.0, finite(record.noise));
  if (!record.note.empty()) json["note"] = record.note;
  if (record.time_limit_s > 0) json["time_limit_s"] = finite(record.time_limit_s);
  json["policy"] = record.policy;
  json["version"] = record.version;
  json["driver"] = record.driver;
  json["date"] = record.date;
  return json;
}

Record record_from_json(const Json& json, const std::string& place) {
  const Reader reader(json, place);
  Record record;
  record.problem = reader.text("problem");
  record.device = reader.text("device");
  record.chosen = candidate_from_json(reader.field("chosen", "an object"), reader.inside("chosen"));
  record.candidates_json = candidates_to_json(
      candidates_from_json(reader.field("candidates", "an array"), reader.inside("candidates")));
  record.floor_us = reader.number("floor_us");
  record.vendor_first_us = reader.number("vendor_first_us");
  record.vendor_best_us = reader.number("vendor_best_us");
  record.margin = reader.number("margin");
  record.noise = reader.number("noise");
  if (json.contains("note")) record.note = reader.text("note");
  if (json.contains("time_limit_s")) record.time_limit_s = reader.number("time_limit_s");
  record.policy = reader.text("policy");
  record.version = reader.text("version");
  record.driver = reader.text("driver");
  record.date = reader.text("date");
  return record;
}

Json to_json(const Failure& failure) {
  Json json;
  json["device"] = failure.device;
  json["family"] = failure.family;
  json["family_version"] = failure.family_version;
  json["configuration"] = failure.configuration_name;
  json["problem"] = failure.problem;
  json["reason"] = failure.reason;
  return json;
}

Failure failure_from_json(const Json& json, const std::string& place) {
  const Reader reader(json, place);
  Failure failure;
  failure.device = reader.text("device");
  failure.family = reader.text("family");
  failure.family_version = reader.integer("family_version");
  failure.configuration_name = reader.text("configuration");
  failure.problem = reader.text("problem");
  failure.reason = reader.text("reason");
  return failure;
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gemwright::store
