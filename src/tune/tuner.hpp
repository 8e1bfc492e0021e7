// Builds, validates, measures and selects among candidates of one problem.
#pragma once

#include "model/rank.hpp"
#include "store/database.hpp"
#include "tune/measure.hpp"
#include "tune/rule.hpp"
#include <gemwright/planner.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gemwright::tune {

/// A candidate with what became of it.
struct Outcome {
  Candidate candidate;
  std::shared_ptr<const Kernel> kernel;  // null when it failed
  double best_us = 0;                    // least of the interleaved rounds
  double median_us = 0;
  std::string failure;     // empty when it ran and was right
  std::size_t rounds = 0;  // that its times are of
};

struct Result {
  std::vector<Outcome> outcomes;  // of those taken from the request, in its order
  int chosen = -1;                // index of the winner; -1 when none ran
  double margin = 0;              // the second's time / the chosen one's - 1, as they are compared
  double noise = 0;               // relative spread of the rounds
  double others = 0;              // share of the CPUs that others took, where it decided
  bool disturbed = false;         // the times are no evidence: the choice is not theirs
  std::optional<Ruling> ruling;   // none where nothing was timed
  std::string note;               // why it is not the whole answer; empty when it is
  double cut_s = 0;               // the time, in seconds, that ended it early; 0: it was enough
  bool short_of_memory = false;   // a candidate was dropped for want of memory
  bool lasting = false;           // fit to be kept: measured, or cut by the time limit
};

struct Request {
  const Problem* problem = nullptr;  // canonical
  const Device* device = nullptr;
  std::vector<Candidate> candidates;  // ranked: the first is the model's choice
  /// So many of the own candidates are tried (0: all), and every vendor's. Those that failed before
  /// take nobody's place; when all fail the next are tried, while there is time.
  int own = 0;
  double time_limit_s = 30;
  /// What one candidate may take to be built and validated in the worker, at least, on a CPU with
  /// time for large operands added; fifty times what is predicted for it where that is more. The
  /// kind of device's own when not given.
  std::optional<double> candidate_limit_s;
  /// Index of the choice of before, when this tunes anew: it stays within the noise band. -1: none.
  int incumbent = -1;
  /// How long to measure and what counts as equal; the kind of device's own when not given.
  std::optional<Policy> policy;
  /// What times kernels: measure(), but for tests, whose kernels have a clock of their own.
  std::function<std::optional<Surroundings>(std::vector<Timed>& kernels, const Policy& policy,
                                            const std::function<bool()>& stop)>
      measure;
  Progress progress;
  std::function<bool()> cancelled;
  store::Database* database = nullptr;  // failures are read from and remembered here; may be null
  bool retry_failed = false;            // try again what failed for this very problem
};

/// Compiles in parallel, validates each in the worker process, then times those that are right,
/// interleaved and cold. Within the noise band of the best the incumbent stays, else the first in
/// the order of the request. What is done when time is up or it is cancelled decides: with nothing
/// timed the choice is the first that is right, else the first that was built. Tunings of one
/// device within a process take turns. Never throws for what a candidate does.
Result tune(const Request& request);

}  // namespace gemwright::tune
