// How clusters of the persistent Hopper kernels share out their tiles: the host side of
// kernels/cuda/hopper_schedule.cuh.
#pragma once

#include "cuda/hopper_params.cuh"
#include "device/cuda/launch.hpp"

#include <cstdint>

namespace gemwright {

/// Sets the tiles, the order that they are walked in (`group` rows or, along_n, columns of tiles
/// together) and what the kernel divides by. After params.gemm.
void set_tiles(gemwright_device::HopperParams& params, std::int64_t tiles_m, std::int64_t tiles_n,
               int group, bool along_n);

/// Tiles whose k-blocks are dealt out evenly (stream-K), and k-blocks that each cluster takes.
struct Streamed {
  int tiles = 0;
  int share = 0;
};

/// The tiles that are left when all clusters have had equally many; with one more each when those
/// few would have to be cut into very small parts. `parts`: counters that a tile needs.
Streamed stream_tiles(std::int64_t tiles, std::int64_t blocks, int clusters, int parts);

/// The grid, given the tiles and what is streamed. `clusters`: that the device holds at a time;
/// `once`: a cluster takes one tile (its CTAs exchange parts of a split K but once).
void set_grid(gemwright_device::HopperParams& params, cuda::LaunchShape& shape, int clusters,
              bool once);

}  // namespace gemwright
