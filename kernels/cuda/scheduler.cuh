// Which tile a CTA computes.
#pragma once

#include "params.cuh"

namespace gemwright_device {

struct Tile {
  int m, n;  // in tiles
  int batch;
  int split;   // part of K
  int linear;  // number of (batch, m, n), the same for every split
};

struct Range {
  int begin, end;
};

__device__ __forceinline__ int tiles_of(int size, int tile) {
  return (size - 1) / tile + 1;
}

/// The largest divisor of `x` up to `limit`.
__device__ constexpr int largest_divisor(int x, int limit) {
  int divisor = x;
  while (divisor > limit || x % divisor != 0) --divisor;
  return divisor;
}

/// Tile number `index` of tiles_m * tiles_n * splits * batch. Tiles run down the rows of a group
/// before they go to the next column, so that those at work share both operands in the L2 cache.
__device__ __forceinline__ Tile tile_at(unsigned index, int tiles_m, int tiles_n,
                                        const GemmParams& p) {
  const unsigned tiles = static_cast<unsigned>(tiles_m) * static_cast<unsigned>(tiles_n);
  const unsigned slice = index / tiles;
  const unsigned rest = index - slice * tiles;
  Tile tile;
  tile.batch = static_cast<int>(slice / static_cast<unsigned>(p.splits));
  tile.split = static_cast<int>(slice) - tile.batch * p.splits;
  const unsigned per_group = static_cast<unsigned>(p.group) * static_cast<unsigned>(tiles_n);
  const unsigned group = rest / per_group;
  const int first = static_cast<int>(group) * p.group;
  const int rows = min(p.group, tiles_m - first);
  const unsigned within = rest - group * per_group;
  tile.n = static_cast<int>(within / static_cast<unsigned>(rows));
  tile.m = first + static_cast<int>(within) - tile.n * rows;
  tile.linear = static_cast<int>(static_cast<unsigned>(tile.batch) * tiles + rest);
  return tile;
}

/// Steps of K that a split takes: all of equal length, or one longer.
__device__ __forceinline__ Range split_range(int steps, int splits, int split) {
  const int each = steps / splits;
  const int longer = steps - each * splits;
  const int begin = split * each + min(split, longer);
  return {begin, begin + each + (split < longer ? 1 : 0)};
}

}  // namespace gemwright_device
