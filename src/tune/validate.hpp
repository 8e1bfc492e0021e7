// Is a kernel right on a problem?
#pragma once

#include "tune/reference.hpp"
#include "tune/testbed.hpp"

#include <string>

namespace gemwright::tune {

/// Runs the kernel on poisoned output and checks it, a second time on the workspace that the first
/// run left when it uses one. Empty when right, else what is wrong. Throws DeviceError,
/// OutOfMemory.
std::string validate(const Kernel& kernel, const Problem& problem, Testbed& testbed,
                     const Reference& reference);

}  // namespace gemwright::tune
