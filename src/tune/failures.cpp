#include "tune/failures.hpp"

#include <fmt/format.h>

namespace gemwright::tune {
namespace {

bool is(const store::Failure& failure, Verdict::Kind kind) {
  return failure.reason.starts_with(fmt::format("{}: ", name(kind)));
}

}  // namespace

Failures::Failures(store::Database* database, const Problem& problem, const Device& device,
                   bool retry)
    : database_(database), problem_(key(problem)), device_(device.key()) {
  if (database_ == nullptr) return;
  if (retry) database_->forget_failures(problem_, device_);
  known_ = database_->failures(device_);
  // A shipped store forgets nothing.
  if (retry)
    std::erase_if(known_, [&](const auto& failure) { return failure.problem == problem_; });
}

std::string Failures::remembered(const Candidate& candidate) const {
  const Family& family = *candidate.family;
  for (const store::Failure& failure : known_) {
    if (failure.family != family.name() || failure.family_version != family.version()) continue;
    if (failure.configuration_name != family.configuration_name(candidate.configuration)) continue;
    const bool this_problem_only = family.vendor() || is(failure, Verdict::Kind::build) ||
                                   is(failure, Verdict::Kind::overflow);
    if (this_problem_only && failure.problem != problem_) continue;
    return "failed before: " + failure.reason;
  }
  return {};
}

void Failures::remember(const Candidate& candidate, const Verdict& verdict) {
  if (database_ == nullptr || verdict.kind == Verdict::Kind::right ||
      verdict.kind == Verdict::Kind::memory || verdict.kind == Verdict::Kind::undone) {
    return;
  }
  database_->remember_failure(
      {.device = device_,
       .family = std::string(candidate.family->name()),
       .family_version = candidate.family->version(),
       .configuration_name = candidate.family->configuration_name(candidate.configuration),
       .problem = problem_,
       .reason = fmt::format("{}: {}", name(verdict.kind), verdict.reason)});
}

}  // namespace gemwright::tune
