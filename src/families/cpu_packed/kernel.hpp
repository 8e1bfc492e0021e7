// The kernel: one configuration, run on any problem that it serves.
#pragma once

#include "families/cpu_packed/setup.hpp"
#include "families/family.hpp"

#include <memory>

namespace gemwright::cpu_packed {

/// `loader` is loader_of() of the configuration and the problem.
std::shared_ptr<const Kernel> make_kernel(const Setup& setup, Loader loader);

}  // namespace gemwright::cpu_packed
