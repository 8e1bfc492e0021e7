// Rounding activations to codes of 8 bits: the launch of kernels/cuda/quantise_rows.cuh.
#pragma once

#include "cuda/lowbit_params.cuh"
#include "device/cuda/launch.hpp"
#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

#include <string>

namespace gemwright::cuda_lowbit {

/// What it writes; the numbers are those of quantise_rows.cuh.
enum class Rounded : int { e4m3_bytes = 0, e4m3_numbers = 1, int8_numbers = 2 };

/// "constexpr int kType = 2, ...;\n"
std::string rounding_preamble(const Problem& problem, Rounded to);

/// Codes in rows of `pitch`, a multiple of 16.
gemwright_device::QuantiseParams rounding_params(const Problem& problem, const Operands& operands,
                                                 int pitch, void* codes, float* scales);
cuda::LaunchShape rounding_shape(const Problem& problem, const Operands& operands, int pitch);

}  // namespace gemwright::cuda_lowbit
