#include "problem/transposed.hpp"

#include <utility>

namespace gemwright {

Problem transposed(Problem problem) {
  const auto flip = [](Operand& operand) { std::swap(operand.row_stride, operand.col_stride); };
  std::swap(problem.m, problem.n);
  std::swap(problem.a, problem.b);
  flip(problem.a);
  flip(problem.b);
  flip(problem.d);
  if (problem.c) flip(*problem.c);
  if (problem.bias != Bias::none) {
    problem.bias = problem.bias == Bias::per_row ? Bias::per_column : Bias::per_row;
  }
  return problem;
}

}  // namespace gemwright
