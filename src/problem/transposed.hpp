// D = A B read as D^T = B^T A^T.
#pragma once

#include <gemwright/problem.hpp>

namespace gemwright {

/// The same product with rows and columns of D swapped; its operands are Operands::transposed().
Problem transposed(Problem problem);

}  // namespace gemwright
