// Why the choice among measured candidates fell as it did.
#pragma once

#include <optional>
#include <string_view>

namespace gemwright::tune {

/// fastest: none that was compared was faster. Else the incumbent, or the model's first choice, is
/// kept: another was faster by less than the noise band (`equal`), by less than others took of the
/// CPUs (`others`), or by less than times of own kernels wander on a restless machine (`restless`);
/// or no time is evidence.
enum class Rule : unsigned char { fastest, equal, others, restless, no_evidence };
std::string_view name(Rule rule);
/// Nothing for what no rule is called.
std::optional<Rule> parse_rule(std::string_view name);

/// The rule that was applied, and within what share of the fastest time it let one be chosen; 0
/// where no time counts.
struct Ruling {
  Rule rule = Rule::fastest;
  double band = 0;
};

}  // namespace gemwright::tune
