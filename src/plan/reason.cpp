#include "plan/reason.hpp"

#include <fmt/format.h>

namespace gemwright {
namespace {

// Of times that were taken `when`.
std::string ruled_reason(const tune::Ruling& ruling, const std::string& when) {
  constexpr const char* kKept = "the earlier answer, else the model's first choice, is kept";
  const std::string near =
      fmt::format("within {:.1f} % of the fastest measured {}", 100 * ruling.band, when);
  switch (ruling.rule) {
    case tune::Rule::fastest:
      return "the fastest of those measured " + when;
    case tune::Rule::equal:
      return fmt::format("{}, the noise band: {}", near, kKept);
    case tune::Rule::others:
      return fmt::format("{}, as much as others used of the CPUs: {}", near, kKept);
    case tune::Rule::restless:
      return fmt::format("{}, on a restless machine: {}", near, kKept);
    case tune::Rule::no_evidence:
      return fmt::format("no time is evidence, {}", kKept);
  }
  return {};
}

std::string measured_reason(const Explanation& explanation,
                            const std::optional<tune::Ruling>& ruling, const std::string& when) {
  if (explanation.chosen.median_us <= 0) return "the model's choice, which was not measured";
  return ruling ? ruled_reason(*ruling, when) : "measured " + when;
}

}  // namespace

std::string reason_of(const Explanation& explanation, const std::optional<tune::Ruling>& ruling) {
  switch (explanation.source) {
    case Source::tuned:
      return measured_reason(explanation, ruling, "just now");
    case Source::store:
      return measured_reason(explanation, ruling, "when it was tuned");
    case Source::model:
      return "the model's first choice; nothing was measured";
    case Source::forced:
      return "asked for by name";
  }
  return {};
}

}  // namespace gemwright
