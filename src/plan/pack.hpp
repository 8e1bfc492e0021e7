// Sizes of packed weights.
#pragma once

#include <gemwright/problem.hpp>

#include <cstddef>

namespace gemwright {

/// Bytes that pack_weights writes for the B of a problem that has been checked. Allocates nothing.
std::size_t packed_bytes(const Problem& problem);

}  // namespace gemwright
