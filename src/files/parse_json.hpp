// JSON that comes from outside.
#pragma once

#include <gemwright/errors.hpp>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace gemwright::files {

/// Where in a document a parser is: the names of the objects' members that it is inside of.
class JsonPlace {
 public:
  /// Depths are those of the library's parser callback: an object's members are one deeper than it.
  void enter(int depth) {
    names_.resize(static_cast<std::size_t>(depth));
    members_.resize(static_cast<std::size_t>(depth) + 1);
    members_.emplace_back();
  }
  /// False when the object has had a member of that name.
  bool name(int depth, const std::string& member) {
    const auto at = static_cast<std::size_t>(depth);
    names_.resize(at);
    names_.back() = member;
    members_.resize(at + 1);
    return members_.back().insert(member).second;
  }
  /// "text_config.hidden_size"; arrays leave no trace.
  std::string text() const {
    std::string joined;
    for (const std::string& name : names_) {
      if (!name.empty()) joined += (joined.empty() ? "" : ".") + name;
    }
    return joined;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::set<std::string>> members_;  // by depth, of the objects that are open
};

/// What was given, cut to a length that a person reads.
inline std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 90;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

/// What the parser says, without the name of its exception in front: "parse error at line 1, ...".
inline std::string text_of(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.starts_with("[json.") ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

/// Parses text; a nlohmann::json or an ordered one. Throws InvalidArgument for `argument`, with the
/// place, for what is no JSON, holds numbers that no double holds (and names their field), names a
/// member twice, or is nested deeper than 32: the library copies and prints recursively, and would
/// run out of stack.
template <typename Json>
Json parse_json(std::string_view text, const std::string& argument, const std::string& allowed) {
  constexpr int kDeepest = 32;
  using Event = nlohmann::detail::parse_event_t;
  JsonPlace place;
  const auto follow = [&](int depth, Event event, const Json& parsed) {
    if (depth > kDeepest) {
      throw InvalidArgument(argument, "nested deeper than " + std::to_string(kDeepest), allowed);
    }
    if (event == Event::key && !place.name(depth, parsed.template get<std::string>())) {
      throw InvalidArgument(argument + ": " + place.text(), "twice", "each member once");
    }
    if (event == Event::object_start || event == Event::array_start) place.enter(depth);
    return true;
  };
  try {
    return Json::parse(text, follow);
  } catch (const nlohmann::json::out_of_range& error) {
    const std::string field = place.text();
    throw InvalidArgument(field.empty() ? argument : argument + ": " + field,
                          shortened(text_of(error)), "a number that a double holds");
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(argument, text_of(error), allowed);
  }
}

}  // namespace gemwright::files
