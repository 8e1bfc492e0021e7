// What the warp-specialised Hopper GEMM is given beside its descriptors. Read by host and device.
#pragma once

#include "params.cuh"

namespace gemwright_device {

/// Division by d > 0 of what is below 2^31: multiply, then shift by 31 + l, where 2^(l-1) < d <=
/// 2^l and multiplier = floor(2^(31+l) / d) + 1. A division costs a kernel's start a few hundred
/// clocks.
struct Divisor {
  unsigned multiplier, shift;
};

struct HopperParams {
  GemmParams gemm;
  unsigned long long a_policy, b_policy;  // L2 policies of the copies
  int tiles_m, tiles_n;                   // in tiles of a whole cluster
  int tiles;                              // of all the batch
  int step;      // from a cluster's tile to its next one: clusters, or `tiles` in one wave
  int one_wave;  // the grid is of tiles: (m, n, batch), or (n, m, batch) where they run along n
  int along_n;   // tiles run along n inside a group, else along m
  int a_batches, b_batches;  // 0: all entries of the batch share the operand; else 1
  int streamed;              // tiles whose k-blocks are dealt out evenly (stream-K), the first ones
  int share;                 // k-blocks of those that each cluster takes
  Divisor by_tiles;          // tiles of a batch entry
  Divisor by_group;          // tiles of a whole group
  Divisor by_size, by_last_size;  // rows (or columns) of tiles in a group, and in the last one
  int last_group;                 // number of the group that may be smaller
  // Rows of one copy of A and of B where K is contiguous, fewer than the tile's where there are
  // fewer: rows outside of a matrix take twice as long as others. And what fills a stage.
  int a_rows, b_rows;
  unsigned stage_bytes;
};

}  // namespace gemwright_device
