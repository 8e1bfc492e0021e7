// Path::stream: codes are looked up as they stream past some rows of A.
#pragma once

#include "families/cpu_lowbit/kernels/table.hpp"
#include <gemwright/plan.hpp>
#include <gemwright/problem.hpp>

#include <cstddef>

namespace gemwright::cpu_lowbit {

std::size_t streaming_bytes(const Problem& problem, const StreamKernels& kernels, int threads);
void run_streaming(const Problem& problem, const Operands& operands, const StreamKernels& kernels,
                   int threads, std::byte* workspace);

}  // namespace gemwright::cpu_lowbit
