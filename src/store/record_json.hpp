// Records and failures as JSON: the store's rows, and what export and import exchange.
#pragma once

#include "store/record.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace gemwright::store {

using Json = nlohmann::ordered_json;

Json to_json(const Record& record);
Json to_json(const Failure& failure);

/// Throw InvalidArgument naming the field: `place` ("records[3]") is put before its name.
Record record_from_json(const Json& json, const std::string& place);
Failure failure_from_json(const Json& json, const std::string& place);

/// Record::candidates_json, and the measured or dropped candidates that it says. The second throws
/// InvalidArgument for other text.
std::string candidates_to_json(const std::vector<MeasuredCandidate>& candidates);
std::vector<MeasuredCandidate> candidates_from_json(std::string_view json);

/// One line; bytes that are not UTF-8 are replaced.
std::string dump(const Json& json, int indent = -1);

}  // namespace gemwright::store
