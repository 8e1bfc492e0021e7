// JSON that comes from outside.
#pragma once

#include <gemwright/errors.hpp>

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace gemwright::files {

/// Parses text; a nlohmann::json or an ordered one. Throws InvalidArgument for `argument`, with the
/// place, for what is no JSON, holds numbers that no double holds, or is nested deeper than 32:
/// the library copies and prints recursively, and would run out of stack.
template <typename Json>
Json parse_json(std::string_view text, const std::string& argument, const std::string& allowed) {
  constexpr int kDeepest = 32;
  const auto check_depth = [&](int depth, nlohmann::detail::parse_event_t, const Json&) {
    if (depth > kDeepest) {
      throw InvalidArgument(argument, "nested deeper than " + std::to_string(kDeepest), allowed);
    }
    return true;
  };
  try {
    return Json::parse(text, check_depth);
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(argument, error.what(), allowed);
  }
}

}  // namespace gemwright::files
