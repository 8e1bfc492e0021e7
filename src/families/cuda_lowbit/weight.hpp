// A packed weight as the low-bit kernels take it.
#pragma once

#include <gemwright/device.hpp>
#include <gemwright/problem.hpp>

#include <optional>
#include <string>

namespace gemwright_device {
struct LowbitWeight;
}

namespace gemwright::cuda_lowbit {

/// Why no kernel here takes the problem's format, types or sizes; nothing when they do.
std::optional<std::string> refuse_problem(const Problem& problem, const Device& device);

/// Codes become numbers by a table (else by arithmetic).
bool looks_up(const WeightFormat& format);

/// Sections of what pack_weights wrote to `packed`, device memory.
gemwright_device::LowbitWeight weight_at(const Problem& problem, const void* packed);

/// "constexpr int kCodes = 3, kScaleType = 2, ...;\n"
std::string weight_preamble(const Problem& problem);

}  // namespace gemwright::cuda_lowbit
