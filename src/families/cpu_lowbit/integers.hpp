// Path::integers: codes and int8 activations are multiplied as integers, in blocks of decoded
// codes.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"
#include "families/cpu_packed/setup.hpp"
#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

#include <cstddef>

namespace gemwright::cpu_lowbit {

/// `isa` is that of the epilogue.
std::size_t integers_bytes(const Problem& problem, int threads);
void run_integers(const Problem& problem, const Operands& operands, const IntegerKernels& kernels,
                  cpu_packed::Isa isa, int threads, std::byte* workspace);

}  // namespace gemwright::cpu_lowbit
