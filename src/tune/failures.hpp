// Candidates that failed before, and what is to be remembered of those that fail now.
#pragma once

#include "model/rank.hpp"
#include "store/database.hpp"
#include "tune/checker.hpp"

#include <string>
#include <vector>

namespace gemwright::tune {

/// A fault, a hang or a wrong result bars a configuration of that family version from every problem
/// on the device; a failed build, or a wrong result where results overflow, bars it from the
/// problem only, as does any failure of a vendor's choice, which is another algorithm for another
/// problem. Lack of memory or of time bars nothing.
class Failures {
 public:
  /// `database` may be null: then nothing is remembered. With `retry` what failed for this very
  /// problem is forgotten.
  Failures(store::Database* database, const Problem& problem, const Device& device, bool retry);

  /// Why the candidate is not to be tried; empty when it may be.
  std::string remembered(const Candidate& candidate) const;
  void remember(const Candidate& candidate, const Verdict& verdict);

 private:
  store::Database* database_;
  std::string problem_;
  std::string device_;
  std::vector<store::Failure> known_;
};

}  // namespace gemwright::tune
