// Candidates of a problem, ranked by predicted time, and the best of them.
#pragma once

#include "families/family.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright {

/// A configuration for a problem, with its estimate.
struct Candidate {
  const Family* family = nullptr;
  Configuration configuration;
  Estimate estimate;
};

/// FAMILY/CONFIGURATION, by which users name it.
std::string label(const Candidate& candidate);

/// Whether `name` is the candidate's label or its family's name.
bool is_named(const Candidate& candidate, std::string_view name);

/// Throws what is wrong with a name that no candidate of the problem has: InvalidArgument of
/// `argument` where no family of this build is called so, else Unsupported.
[[noreturn]] void refuse_name(const std::string& argument, const std::string& name,
                              const Problem& problem, const Device& device,
                              const std::vector<Refusal>& refusals);

namespace model {

/// Every candidate for the canonical problem, own ones by predicted time; families that refuse are
/// appended to `refusals`. Of a batch-invariant problem only those of one summation order.
std::vector<Candidate> rank(const Problem& problem, const Device& device,
                            std::vector<Refusal>& refusals);

/// Takes out of `ranked` those to be tried next: the best `own` of the own candidates (0: all), and
/// every vendor one. Barred ones ranked before the last of them come along and take nobody's place.
std::vector<Candidate> take_best(std::vector<Candidate>& ranked, int own,
                                 const std::function<bool(const Candidate&)>& barred = {});

/// Roofline time in microseconds: the larger of bytes over bandwidth and flops over math rate.
double floor_us(const Problem& problem, const Device& device);

}  // namespace model
}  // namespace gemwright
