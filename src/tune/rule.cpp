#include "tune/rule.hpp"

namespace gemwright::tune {

std::string_view name(Rule rule) {
  switch (rule) {
    case Rule::fastest:
      return "fastest";
    case Rule::equal:
      return "equal";
    case Rule::others:
      return "others";
    case Rule::restless:
      return "restless";
    case Rule::no_evidence:
      return "no_evidence";
  }
  return "?";
}

std::optional<Rule> parse_rule(std::string_view text) {
  for (const Rule rule :
       {Rule::fastest, Rule::equal, Rule::others, Rule::restless, Rule::no_evidence}) {
    if (name(rule) == text) return rule;
  }
  return std::nullopt;
}

}  // namespace gemwright::tune
