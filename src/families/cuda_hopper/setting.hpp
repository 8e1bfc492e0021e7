// One setting of the warp-specialised Hopper kernel, and what follows from it.
#pragma once

#include "families/family.hpp"
#include "model/hopper_cost.hpp"

#include <string>

namespace gemwright::cuda_hopper {

inline constexpr std::array<std::string_view, 11> kParameters = {
    "tile_m",   "tile_n",    "stages", "cluster_m", "cluster_n", "split",
    "stream_k", "ping_pong", "swap",   "group",     "along_n"};

/// Columns of a consumer warpgroup that multiplies by mma.sync.
inline constexpr int kWarpColumns = 64;

/// Tiles are those of the product that the kernel sees: with `swap` that is D^T = B^T A^T.
struct Setting {
  int tile_m = 128;
  int tile_n = 128;
  int stages = 4;
  int cluster_m = 1;       // CTAs that share a column of tiles, and so B
  int cluster_n = 1;       // CTAs that share a row of tiles, and so A
  int split = 1;           // CTAs of a cluster that share one tile's K
  bool stream_k = false;   // k-blocks of tiles that do not fill all SMs are dealt out evenly
  bool ping_pong = false;  // each consumer warpgroup has a tile of its own
  bool swap = false;
  int group = 8;  // rows (or columns) of tiles that are walked together, for L2
  bool along_n = false;
  bool warps = false;  // mma.sync instead of wgmma; consumers share the columns of a tile

  bool operator==(const Setting&) const = default;

  int consumers() const {
    if (warps) return tile_n / kWarpColumns;
    return ping_pong ? 2 : tile_m == 64 ? 1 : tile_m == 192 ? 3 : 2;
  }
  int cluster() const { return cluster_m * cluster_n * split; }
  int columns_stored() const { return (warps ? kWarpColumns : tile_n) / split; }
  /// Accumulator registers of a consumer thread.
  int accumulators() const { return tile_m * tile_n / 128 / (ping_pong ? 1 : consumers()); }
};

Setting setting_of(const Configuration& configuration);
Configuration configuration_of(const Setting& setting);
/// "hopper_128x256x64_s4_c2x1_coop_g8m"; with "_k4" where K is split, "_t" where swapped.
std::string name_of(const Setting& setting);

/// How D is stored; the numbers are those of kernels/cuda/epilogue_wgmma.cuh.
enum class Store : int { direct = 0, rows = 1, columns = 2 };

/// How an input is brought into shared memory: by bulk copies, or else by threads; the numbers are
/// those of kernels/cuda/thread_producer.cuh and tile_loader.cuh.
enum class Load : int { bulk = -2, across = -1, gathered = 0, shifted = 1 };

/// The problem as the kernel sees it (transposed where the setting says so).
struct View {
  Problem problem;
  Load load_a = Load::bulk;
  Load load_b = Load::bulk;
  bool a_major_m = false;  // in shared memory
  bool b_major_n = false;
  Store store = Store::direct;

  bool threads_load() const { return load_a != Load::bulk || load_b != Load::bulk; }
};
View view_of(const Problem& problem, bool swap);

int threads(const Setting& setting, const View& view);

/// What the model is asked about: settings with `warps`, or those without.
model::HopperProduct product_of(const View& view, bool warps);
model::HopperSetting cost_setting_of(const Setting& setting);

/// Chunks of D that a consumer keeps in shared memory: one fills while the other is copied out.
inline constexpr int kBuffers = 2;
int shared_bytes(const Setting& setting, const View& view);

/// Most stages that fit beside the rest; 0 when there is no room for two.
int most_stages(const Setting& setting, const View& view, std::size_t shared_limit);

}  // namespace gemwright::cuda_hopper
