// What errors of a weight are computed from, row by row and slice by slice.
#pragma once

#include <gemwright/weights.hpp>

namespace gemwright::formats {

struct ErrorSums {
  double error = 0;    // of (w - w')^2
  double norm = 0;     // of w^2
  double largest = 0;  // |w - w'|

  void add(const ErrorSums& other);
  WeightError result() const;
};

/// Of a coded weight and the one it stands for, row-major. The same for every number of threads.
ErrorSums error_sums(const CodedWeight& weight, DataType type, const void* w);

}  // namespace gemwright::formats
