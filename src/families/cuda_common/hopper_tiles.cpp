#include "families/cuda_common/hopper_tiles.hpp"

#include <algorithm>
#include <bit>

namespace gemwright {
namespace {

// Clusters that share one stream-K tile, at most: adding up more parts costs more than it saves.
constexpr std::int64_t kMostParts = 8;
constexpr std::int64_t kMostGridY = 65535;

// See hopper_params.cuh.
gemwright_device::Divisor divisor(std::int64_t by) {
  const auto d = static_cast<std::uint64_t>(by);
  const int bits = std::bit_width(d - 1);
  return {.multiplier = static_cast<unsigned>((std::uint64_t{1} << (31 + bits)) / d + 1),
          .shift = static_cast<unsigned>(31 + bits)};
}

}  // namespace

void set_tiles(gemwright_device::HopperParams& params, std::int64_t tiles_m, std::int64_t tiles_n,
               int group, bool along_n) {
  params.tiles_m = static_cast<int>(tiles_m);
  params.tiles_n = static_cast<int>(tiles_n);
  params.tiles = params.tiles_m * params.tiles_n * params.gemm.batch;
  params.along_n = along_n ? 1 : 0;
  const std::int64_t across = along_n ? tiles_n : tiles_m;
  const std::int64_t down = along_n ? tiles_m : tiles_n;
  const std::int64_t size = std::min<std::int64_t>(group, across);
  params.gemm.group = static_cast<int>(size);
  params.last_group = static_cast<int>((across - 1) / size);
  params.by_tiles = divisor(across * down);
  params.by_group = divisor(size * down);
  params.by_size = divisor(size);
  params.by_last_size = divisor(across - params.last_group * size);
}

Streamed stream_tiles(std::int64_t tiles, std::int64_t blocks, int clusters, int parts) {
  std::int64_t streamed = tiles % clusters;
  if (streamed * kMostParts < clusters && streamed > 0 && streamed + clusters <= tiles) {
    streamed += clusters;
  }
  if (blocks == 0 || streamed * blocks > (1 << 30) ||
      streamed * parts > gemwright_device::kMaxCounters) {
    return {};
  }
  return {static_cast<int>(streamed),
          static_cast<int>((streamed * blocks + clusters - 1) / clusters)};
}

// In one wave (all tiles at once, or those that are taken once) the grid says which tile is whose.
void set_grid(gemwright_device::HopperParams& params, cuda::LaunchShape& shape, int clusters,
              bool once) {
  const auto count = [](std::int64_t n) { return static_cast<unsigned>(n); };
  const bool one_wave = params.streamed == 0 && (once || params.tiles <= clusters);
  const std::int64_t across = params.along_n != 0 ? params.tiles_n : params.tiles_m;
  const std::int64_t down = params.along_n != 0 ? params.tiles_m : params.tiles_n;
  if (one_wave && down <= kMostGridY && params.gemm.batch <= kMostGridY) {
    params.one_wave = 1;
    params.step = params.tiles;
    shape.grid = {count(across) * shape.cluster[0], count(down), count(params.gemm.batch)};
    return;
  }
  // Streamed tiles are shares of all clusters, however few tiles there are.
  const bool a_tile_each = params.streamed == 0 && (once || params.tiles < clusters);
  params.step = a_tile_each ? params.tiles : clusters;
  shape.grid[0] = count(params.step) * shape.cluster[0];
}

}  // namespace gemwright
