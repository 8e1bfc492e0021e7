// Rows of A as Problem::activations wants them.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"
#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

#include <cstddef>
#include <cstdint>

namespace gemwright::cpu_lowbit {

inline bool rounds(const Problem& problem) {
  return problem.activations != Activations::as_given;
}

/// A row of an entry of the batch in the order of the packed weight's columns: out[k].
void load_row(const Problem& problem, const Weight& weight, const void* a, std::int64_t batch,
              std::int64_t row, float* out);

/// The same as codes, which are numbers. Returns their scale.
float round_row(const Problem& problem, const Weight& weight, const void* a, std::int64_t batch,
                std::int64_t row, float* out);

/// Of the scales of all rows, [batch][m]; 0 where A is multiplied as given.
std::size_t row_scale_bytes(const Problem& problem);

}  // namespace gemwright::cpu_lowbit
