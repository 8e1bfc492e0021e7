#include "families/cuda_mma/bulk.hpp"

#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gemwright::cuda_mma {
namespace {

using cuda_hopper::Setting;
using cuda_hopper::Store;
using cuda_hopper::View;
using cuda_layout::tiles_of;

// Rows that were fastest for some size of 256 rows and more (docs/performance/mma.md).
constexpr std::array kRows = {256, 192, 128};
constexpr int kColumns = 128;
constexpr int kMostStages = 6;

bool takes(const View& view) {
  if (view.threads_load() || view.store == Store::direct) return false;
  // Reading C element by element takes more than a second to compile.
  if (view.problem.c) return false;
  // ptxas spills where copies of both operands are of many boxes.
  return !(view.a_major_m && view.b_major_n);
}

// K is split while that fills SMs that would be idle, and leaves every part some K.
bool worth_splitting(const Setting& s, const Problem& p, const CudaProfile& gpu) {
  const std::int64_t tiles = tiles_of(p.m, s.tile_m) * tiles_of(p.n, s.tile_n) * p.batch;
  const int tile_k = 128 / size_bytes(p.a.type);
  return tiles * s.split <= gpu.multiprocessors && p.k >= 4 * tile_k * s.split;
}

}  // namespace

std::vector<Setting> bulk_settings(const Problem& problem, const Device& device) {
  const CudaProfile& gpu = device.profile().cuda;
  std::vector<Setting> found;
  if (gpu.sm != 90) return found;
  for (const bool swap : {false, true}) {
    const View view = cuda_hopper::view_of(problem, swap);
    const Problem& p = view.problem;
    if (!takes(view)) continue;
    for (const int rows : kRows) {
      // Tiles that are mostly padding lose to smaller ones.
      if (rows >= 2 * p.m || kColumns >= 2 * p.n) continue;
      for (const auto& [cluster_n, split] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2)}) {
        Setting s{.tile_m = rows,
                  .tile_n = kColumns,
                  .cluster_n = cluster_n,
                  .split = split,
                  .swap = swap,
                  .warps = true};
        if (split > 1 && !worth_splitting(s, p, gpu)) continue;
        s.stages = std::min(kMostStages, most_stages(s, view, gpu.shared_per_block));
        if (s.stages >= 2) found.push_back(s);
      }
    }
  }
  return found;
}

}  // namespace gemwright::cuda_mma
