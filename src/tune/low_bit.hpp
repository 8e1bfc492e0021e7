// Test data for problems with a low-bit weight.
#pragma once

#include <gemwright/problem.hpp>
#include <gemwright/weights.hpp>

namespace gemwright::tune {

/// The weight that a problem with a format is checked and timed on: codes of near-normal values, as
/// a trained weight has them, and scales, zero points, codebook and order that differ everywhere.
/// Of the size that input_scale gives B.
CodedWeight test_weight(const Problem& problem);

}  // namespace gemwright::tune
