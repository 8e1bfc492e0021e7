#include "formats/packed_layout.hpp"
#include "problem/extent.hpp"
#include "problem/transposed.hpp"
#include <gemwright/problem.hpp>

#include <algorithm>

namespace gemwright {
namespace {

void normalise_strides(Problem& problem) {
  normalise_strides(problem.a, problem.m, problem.k, problem.batch);
  normalise_strides(problem.b, problem.k, problem.n, problem.batch);
  normalise_strides(problem.d, problem.m, problem.n, problem.batch);
  if (problem.c) normalise_strides(*problem.c, problem.m, problem.n, problem.batch);
}

// Codes that are exact in every type need no rounding, and blocks that divide a row are groups.
void normalise_weight(Problem& problem) {
  if (!problem.weight) return;
  if (!has_codebook(*problem.weight)) problem.b.type = problem.a.type;
  problem.weight = formats::resolved(*problem.weight, problem.k);
}

// Of the two readings the one whose D is row-major; where both are, the one with fewer rows, since
// the weight then lies on the N side.
bool should_transpose(const Problem& problem) {
  if (problem.b.packed) return false;
  const bool as_is = problem.n <= 1 || problem.d.col_stride == 1;
  const bool transposed = problem.m <= 1 || problem.d.row_stride == 1;
  if (as_is != transposed) return transposed;
  return as_is && problem.m > problem.n;
}

// Entries that share B and follow each other in memory are one product with more rows.
void fold_batch(Problem& problem) {
  if (problem.batch <= 1 || problem.b.batch_stride != 0 || problem.b.packed) return;
  if (problem.bias == Bias::per_row || problem.m > kMaxSize / problem.batch) return;
  const auto follows = [&](const Operand& operand) {
    return problem.m == 1 || operand.batch_stride == problem.m * operand.row_stride;
  };
  if (!follows(problem.a) || !follows(problem.d)) return;
  if (problem.c && !follows(*problem.c)) return;
  if (problem.m == 1) {
    const auto lift = [](Operand& operand) { operand.row_stride = operand.batch_stride; };
    lift(problem.a);
    lift(problem.d);
    if (problem.c) lift(*problem.c);
  }
  problem.m *= problem.batch;
  problem.batch = 1;
}

}  // namespace

Canonical canonical(const Problem& given) {
  Canonical result{.problem = given, .swapped = false};
  Problem& problem = result.problem;
  if (problem.beta == 0) problem.c.reset();
  if (problem.k == 0) {
    problem.alpha = 1;  // an infinity times no products is no NaN
    problem.activations = Activations::as_given;
  }
  if (problem.bias == Bias::none) problem.bias_type = DataType::f32;
  const bool both_f32 = problem.a.type == DataType::f32 && problem.b.type == DataType::f32;
  problem.allow_tf32 = problem.allow_tf32 && both_f32;

  normalise_weight(problem);
  fold_batch(problem);
  normalise_strides(problem);
  if (should_transpose(problem)) {
    problem = transposed(problem);
    result.swapped = true;
    fold_batch(problem);
    normalise_strides(problem);
  }
  return result;
}

}  // namespace gemwright
