#include "cli/reason.hpp"

#include "tune/tuner.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gemwright::cli {
namespace {

// Of times that were taken `when`. The margin is below 0 when another was faster, and 0 when none
// was compared: there was one time only, or none that could be relied upon.
std::string measured_reason(const Explanation& explanation, const tune::Policy& policy,
                            const std::string& when) {
  constexpr const char* kKept = "the earlier answer, else the model's first choice, is kept";
  if (explanation.chosen.median_us <= 0) return "the model's choice, which was not measured";
  const std::string& note = explanation.note;
  if (note.starts_with(tune::kNoEvidence)) return fmt::format("no time is evidence, {}", kKept);
  if (explanation.margin >= 0) return "the fastest of those measured " + when;
  if (note.find(tune::kOthersTook) != std::string::npos) {
    return fmt::format("not the fastest measured {}, but others used the CPUs: {}", when, kKept);
  }
  const double behind = 1 / (1 + explanation.margin) - 1;
  const double band = std::clamp(explanation.noise, policy.band, policy.widest_band);
  if (behind > band) {
    return fmt::format("near the fastest measured {}, on a restless machine: {}", when, kKept);
  }
  return fmt::format("within {:.1f} % of the fastest measured {}, the noise band: {}", 100 * band,
                     when, kKept);
}

}  // namespace

std::string reason_of(const Explanation& explanation, const tune::Policy& policy) {
  switch (explanation.source) {
    case Source::tuned:
      return measured_reason(explanation, policy, "just now");
    case Source::store:
      return measured_reason(explanation, policy, "when it was tuned");
    case Source::model:
      return "the model's first choice; nothing was measured (see --tune)";
    case Source::forced:
      return "asked for by name";
  }
  return {};
}

}  // namespace gemwright::cli
