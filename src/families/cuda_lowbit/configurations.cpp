#include "families/cuda_lowbit/configurations.hpp"

#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_lowbit/weight.hpp"
#include "formats/packed_layout.hpp"

#include <algorithm>
#include <array>

namespace gemwright::cuda_lowbit {
namespace {

using cuda_layout::tiles_of;

struct Shape {
  int warps_k, warps_n, tiles, stages, ctas;
};

// What measurement on an H200 left of a wider search (docs/performance/lowbit.md).
constexpr std::array kShapes = {
    Shape{8, 1, 4, 4, 1},  Shape{8, 1, 7, 4, 1},  Shape{8, 1, 8, 3, 1}, Shape{8, 2, 2, 6, 1},
    Shape{8, 2, 4, 4, 1},  Shape{6, 2, 7, 3, 1},  Shape{4, 4, 4, 3, 1}, Shape{4, 4, 2, 6, 1},
    Shape{4, 2, 7, 4, 1},  Shape{4, 2, 7, 3, 1},  Shape{4, 3, 5, 4, 1}, Shape{16, 1, 2, 4, 1},
    Shape{16, 1, 3, 4, 1}, Shape{16, 1, 4, 3, 1}, Shape{8, 1, 2, 3, 2}, Shape{8, 1, 2, 4, 1}};

// Accumulators and fragments of 32 rows leave registers for few warps.
constexpr std::array kShapesOf32 = {Shape{8, 1, 2, 4, 1}, Shape{8, 1, 4, 4, 1},
                                    Shape{4, 2, 4, 4, 1}, Shape{4, 2, 7, 3, 1},
                                    Shape{4, 3, 5, 3, 1}, Shape{4, 1, 2, 3, 1}};

int padded_cols(std::int64_t m) {
  return m <= 8 ? 8 : m <= 16 ? 16 : 32;
}

// Accumulators, fragments of A, and what decoding takes; as compiled.
bool fits_registers(const Setting& s, const Problem& p) {
  constexpr int kOthers = 72;
  const auto together = static_cast<int>(formats::groups_together(*p.weight, p.k));
  int needed = s.tiles * s.cols / 2 + s.cols + kOthers + (together > 1 ? 6 * together : 0);
  // What is looked up ahead; of tables of each row with two pointers a tile.
  const bool by_row = p.weight->codes == Codes::learned_per_row;
  needed += s.tiles * (table_bytes(*p.weight) > 0 ? 10 : 3);
  if (by_row) needed += 48 + 12 * s.tiles + s.cols;
  if (p.weight->zero == Zero::real) needed += 3 * s.cols;
  // What is loaded ahead of so many tiles and columns takes all that is left, and more.
  if (s.tiles > 5 && s.cols > 8) return false;
  return needed <= std::min(255, 65536 / (s.threads() * s.ctas) / 8 * 8);
}

// Sums of all warps of one tile meet in 32 KB.
bool has_room_for_sums(const Setting& s) {
  return s.warps_k * s.warps_n * 64 * s.cols <= (32 << 10);
}

}  // namespace

std::vector<Configuration> enumerate(const Problem& p, const Device& device) {
  const CudaProfile& gpu = device.profile().cuda;
  const int cols = padded_cols(p.m);
  const std::span<const Shape> shapes =
      cols <= 16 ? std::span<const Shape>(kShapes) : std::span<const Shape>(kShapesOf32);
  std::vector<Configuration> found;
  for (const Shape& shape : shapes) {
    for (const int split : {1, 2, 4}) {
      const Setting s{.warps_k = shape.warps_k,
                      .warps_n = shape.warps_n,
                      .tiles = shape.tiles,
                      .stages = shape.stages,
                      .cols = cols,
                      .split = split,
                      .ctas = shape.ctas};
      if (!has_room_for_sums(s) || !fits_registers(s, p)) continue;
      const Dealt dealt = deal(s, p, gpu, resident_clusters(s, gpu));
      if (dealt.slots == 0) continue;
      // Every warp has a block of K at least.
      if (split > 1 && tiles_of(p.k, 64) < static_cast<std::int64_t>(split) * s.warps_k) continue;
      found.push_back(configuration_of(s));
    }
  }
  return found;
}

model::LowbitWork work_of(const Setting& s, const Problem& p, const Device& device) {
  const CudaProfile& gpu = device.profile().cuda;
  const Dealt dealt = deal(s, p, gpu, resident_clusters(s, gpu));
  const formats::PackedLayout layout = formats::packed_layout(*p.weight, p.n, p.k);
  model::LowbitWork work;
  work.weight_bytes = static_cast<double>(layout.bytes);
  work.row_blocks = static_cast<double>(tiles_of(p.m, s.cols));
  work.ctas = static_cast<double>(dealt.clusters) * s.split;
  work.blocks_of_k = static_cast<double>(tiles_of(tiles_of(layout.tiles_k, s.split), s.warps_k));
  work.passes = dealt.passes;
  work.tiles = s.tiles;
  work.warps = s.warps_k * s.warps_n;
  work.cols = s.cols;
  work.split = s.split;
  work.ctas_per_sm = s.ctas;
  work.scale_groups = static_cast<double>(formats::groups_together(*p.weight, p.k));
  const bool resident = tiles_of(tiles_of(layout.tiles_k, s.split), s.warps_k) <= dealt.slots;
  work.activation_bytes = static_cast<double>(s.cols) * static_cast<double>(p.k) / s.split * 2 *
                          (resident ? 1 : dealt.passes);
  work.stage_bytes = static_cast<double>(s.tiles * tile_bytes(p) * work.warps);
  work.stages = s.stages;
  work.table = table_bytes(*p.weight) > 0;
  return work;
}

}  // namespace gemwright::cuda_lowbit
