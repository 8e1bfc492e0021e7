// From problems to plans.
#pragma once

#include <gemwright/plan.hpp>
#include <gemwright/store.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace gemwright {

/// How a plan may be come by.
enum class Mode : unsigned char {
  /// From the store; else tune (compile, validate, measure) and remember.
  tune,
  /// From the store; else the model's first choice. Measures nothing.
  model,
  /// From the store only; throws Unsupported when it is not there.
  store_only,
};

/// What a long tuning says as it goes: candidate done / of total, and a short text.
using Progress = std::function<void(int done, int total, const std::string& text)>;

struct PlanOptions {
  Mode mode = Mode::tune;
  /// Own candidates kept after ranking; vendor candidates come on top. 0 means all of them.
  /// The default is $GEMWRIGHT_MAX_CANDIDATES, else 5.
  int max_candidates = default_max_candidates();
  /// Wall time for tuning one problem, in seconds above 0; what is done by then decides.
  double time_limit_s = 30.0;
  /// Tune even when the store has an answer, and replace it; kernels that failed for this problem
  /// are tried again.
  bool retune = false;
  /// "family" or "family/configuration": nothing else is considered and nothing is stored, so that
  /// it is refused with Mode::store_only.
  std::string force = {};
  Progress progress = {};
  /// Asked between steps; true ends tuning early with what is done.
  std::function<bool()> cancelled = {};

  static int default_max_candidates();
};

/// Candidates and refusals for a problem, best predicted first.
struct CandidateList {
  std::vector<CandidateReport> candidates = {};
  std::vector<Refusal> refusals = {};
  /// Roofline time of the problem.
  double floor_us = 0;
};

/// Makes plans for one device, with a store behind it. Safe from many threads.
class Planner {
 public:
  explicit Planner(Device device, Store store = Store::user());

  /// Throws InvalidArgument for a bad problem or option and Unsupported when nothing can run it.
  Plan plan(const Problem& problem, const PlanOptions& options = {}) const;

  /// Plans for every M from min_m to max_m (problem.m is ignored), tuned at a few M between, each
  /// of them within options.time_limit_s. The strides must hold for max_m rows.
  PlanSet plan_range(const Problem& problem, std::int64_t min_m, std::int64_t max_m,
                     const PlanOptions& options = {}) const;

  /// Every configuration of every family, with estimates; runs and compiles nothing.
  CandidateList candidates(const Problem& problem) const;

  const Device& device() const { return device_; }
  const Store& store() const { return store_; }

 private:
  Device device_;
  Store store_;
};

}  // namespace gemwright

#pragma GCC visibility pop
