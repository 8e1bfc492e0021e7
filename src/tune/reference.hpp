// The fp64 reference of a problem on test data, at sampled elements of D.
#pragma once

#include "tune/testbed.hpp"
#include <gemwright/problem.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gemwright::tune {

/// What an element of D must be, and how far from it a right kernel may end.
struct Sample {
  std::int64_t batch = 0;
  std::int64_t row = 0;
  std::int64_t col = 0;
  double value = 0;
  double tolerance = 0;
  /// What it may be instead, as fp32 may overflow on the way, or D's type in the end; where it may
  /// be both, NaN is right as well.
  bool maybe_infinity = false;
  bool maybe_minus_infinity = false;
};

/// All of D where that is little work. Else, in the first, the last and two random entries of the
/// batch: 8 rows (first, last, at tile edges, random) over all columns, 8 columns over all rows,
/// thinned to one of each stretch where these are too many; and 64 x 64 spread over all of D.
class Reference {
 public:
  /// Computes on up to `threads` threads; takes at most a few tenths of a second of one core.
  Reference(const Problem& problem, int threads);

  std::span<const Sample> samples() const { return samples_; }

  /// Whether alpha or beta is not finite or extreme, or results leave what D's type holds: what a
  /// kernel does then says nothing of it on other problems.
  bool overflows() const { return overflows_; }

  /// Looks at D after a run on poison: every element was written and, unless alpha or beta is
  /// extreme, is no NaN; nothing else was written; the samples are right. Empty when so, else what
  /// is wrong. Throws as the testbed does.
  std::string check(Testbed& testbed) const;

 private:
  std::string check_written(const Written& written) const;

  Problem problem_;
  std::vector<Sample> samples_;
  std::vector<std::int64_t> places_;  // of the samples, in D's storage
  bool overflows_;
};

/// How far an element may be from its exact value `value` = alpha * sum + rest, where sum = sum of
/// a[k] b[k], `norm` is ||a|| ||b|| / sqrt(K) (for data without a pattern, the 2-norm of the
/// products) and `rest` the sum of |beta c| and |bias|. With u = 2^-24:
///
///   accumulation  e = u (8 sqrt(K) + K/2) (norm + |sum|)
///   tf32 inputs   e += 2^-10 (8 norm + 2 |sum|)
///   fp8 sums      e += 2^-8 (norm + 2 |sum|)       activations in e4m3
///   epilogue      t = |alpha| e + 4 u (|alpha sum| + rest)
///   output        tolerance = t + v (|value| + t) + least denormal
///
/// v is the unit roundoff of D's type. 8 sqrt(K) covers rounding to nearest in any order with
/// certainty for all practical purposes (Higham and Mary 2019, lambda = 8); K/2 covers tensor
/// cores, which truncate once in each step of 8 or 16 products. Those of fp8 keep 14 bits of a sum
/// of at most 128 products (docs/numerics.md). Dropping one product of K = 4096,
/// of size norm / 64, is far outside.
double tolerance(const Problem& problem, double sum, double norm, double rest, double value);

}  // namespace gemwright::tune
