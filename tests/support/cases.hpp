// The cases that every family must get right: shapes at tile edges, strides, epilogues, values.
#pragma once

#include "support/gemm_case.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace gemwright::test {

/// What the conformance suites are run on.
struct Subject {
  const Family* family;
  DataType type;
};
/// Every family of a kind of device, with every type.
std::vector<Subject> subjects(DeviceKind kind);
/// "cpu_packed_f32".
std::string name_of(const Subject& subject);
/// For a suite's parameter in a test's output.
void PrintTo(const Subject& subject, std::ostream* out);

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
/// Low-bit weights whose activations are rounded to 8 bits; also with NaN and infinities in rows.
std::vector<Case> rounded_cases(DataType type);
/// All of the above but the low-bit ones.
std::vector<Case> all_cases(DataType type);

}  // namespace gemwright::test
