// Why a plan's kernel is the one, in a sentence.
#pragma once

#include "tune/rule.hpp"
#include <gemwright/plan.hpp>

#include <optional>
#include <string>

namespace gemwright {

/// Explanation::reason. Without a ruling no rule is named: records of earlier versions
/// have none.
std::string reason_of(const Explanation& explanation, const std::optional<tune::Ruling>& ruling);

}  // namespace gemwright
