// A packed weight as the low-bit kernels take it.
#pragma once

#include <gemwright/device.hpp>
#include <gemwright/problem.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace gemwright_device {
struct LowbitWeight;
}

namespace gemwright::cuda_lowbit {

/// Why no kernel with tensor cores takes the problem's format, types or sizes; nothing when they
/// do.
std::optional<std::string> refuse_weight(const Problem& problem);
/// Why no kernel takes its sizes.
std::optional<std::string> refuse_sizes(const Problem& problem);
/// Why kernels for Hopper do not run.
std::optional<std::string> refuse_device(const Device& device);

/// Of the table of pairs in shared memory; 0 where there is none.
int table_bytes(const WeightFormat& format);

/// Of the scales and zero points that a row has in a block of 64 columns.
int scale_bytes(const Problem& problem);

/// Of what 64 rows have in a stage of `depth` blocks.
int stage_bytes(const Problem& problem, int depth);

/// Where a family may keep what it makes for a kernel that asks for `bytes` of the same workspace:
/// after these and the counters.
std::size_t after_workspace(std::size_t bytes);

/// Sections of what pack_weights wrote to `packed`, device memory.
gemwright_device::LowbitWeight weight_at(const Problem& problem, const void* packed);

/// "constexpr int kBits = 4, kCodes = 4, kScaleType = 2, ...;\n"
/// `lookup`: symmetric integers come by table, all (1) or every other step (2).
std::string weight_preamble(const Problem& problem, int lookup = 0);

}  // namespace gemwright::cuda_lowbit
