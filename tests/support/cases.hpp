// The cases that every family must get right: shapes at tile edges, strides, epilogues, values.
#pragma once

#include "support/gemm_case.hpp"

#include <vector>

namespace gemwright::test {

/// Sizes at and around every tile edge, primes, ones, zeros of K, skinny and deep ones.
std::vector<Case> shape_cases(DataType type);
/// Padded, sliced, misaligned, transposed, expanded, size-1 and batched layouts.
std::vector<Case> stride_cases(DataType type);
/// alpha, beta, C (its own and D's memory), bias, mixed types.
std::vector<Case> epilogue_cases(DataType type);
/// Normal data, NaN and infinities, one hot element a row, overflow of the output type.
std::vector<Case> value_cases(DataType type);
/// Every weight format at tile and group edges, in M from 1 on, with epilogues.
std::vector<Case> low_bit_cases(DataType type);
/// All of the above but the low-bit ones.
std::vector<Case> all_cases(DataType type);

}  // namespace gemwright::test
