// How a bulk tensor copy sees an operand.
#pragma once

#include "device/cuda/launch.hpp"
#include <gemwright/problem.hpp>

#include <cstdint>

namespace gemwright::cuda_layout {

/// Two extents of an operand: `inner` elements that lie next to each other, `outer` of those
/// `outer_stride` elements apart; and how many of each a copy takes.
struct Plane {
  std::int64_t inner = 0;
  std::int64_t outer = 0;
  std::int64_t outer_stride = 0;
  int box_inner = 0;
  int box_outer = 0;
};

/// A map of three dimensions, inner, outer and batch, of an operand in the device's memory.
/// Dimensions of size 1, broadcast batches included, have no stride of their own: any legal one
/// does. Empty ones count as 1.
cuda::TensorMapShape operand_map(const Operand& x, const Plane& plane, std::int64_t batch,
                                 int ordinal);

}  // namespace gemwright::cuda_layout
