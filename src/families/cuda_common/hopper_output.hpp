// How Hopper kernels read and store by bulk copies: the host side of
// kernels/cuda/epilogue_wgmma.cuh, and L2's policies of ptx_hopper.cuh.
#pragma once

#include "device/cuda/launch.hpp"
#include <gemwright/problem.hpp>

namespace gemwright {

inline constexpr unsigned long long kEvictNormal = 0x1000000000000000ULL;

/// Of an operand that `readers` rows or columns of tiles read. What one or two read, at about the
/// same time, need not stay in L2.
unsigned long long copy_policy(int readers);

/// Columns of D in one chunk of the `width` that a CTA stores. See Chunk in epilogue_wgmma.cuh.
int chunk_columns(DataType type, int width, bool exact);

/// Of kernels that compute D^T, one matrix: whether bulk copies take a D whose rows are contiguous.
bool stores_transposed(const Problem& problem);

/// The map by which they store it, `columns` of its rows in a chunk.
void encode_transposed(cuda::TensorMap& map, const Problem& problem, int columns, int ordinal,
                       const void* d);

}  // namespace gemwright
