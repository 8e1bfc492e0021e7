// The kernel: one configuration, run on any problem that it serves.
#pragma once

#include "families/cpu_lowbit/setup.hpp"

#include <memory>

namespace gemwright::cpu_lowbit {

std::shared_ptr<const Kernel> make_kernel(const Problem& problem, const Setup& setup,
                                          const KernelTable& table);

}  // namespace gemwright::cpu_lowbit
