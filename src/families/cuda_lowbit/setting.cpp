#include "families/cuda_lowbit/setting.hpp"

#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "families/cuda_lowbit/weight.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gemwright::cuda_lowbit {
namespace {

using cuda_layout::tiles_of;

// See kernels/cuda/gemm_lowbit.cu.
constexpr int kSumBytes = 32 << 10;  // in the free half of a table of 64 KB
constexpr int kBarrierBytes = 2048;
constexpr int kMaxSlots = 32;
constexpr int kReserved = 1024;  // that the driver takes of each CTA

int table_and_sums(const WeightFormat& format) {
  const int table = table_bytes(format);
  return table == 2 * kSumBytes ? table : table + kSumBytes;
}

}  // namespace

Setting setting_of(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.warps_k = v[0],
          .warps_n = v[1],
          .tiles = v[2],
          .stages = v[3],
          .cols = v[4],
          .split = v[5],
          .ctas = v[6]};
}

Configuration configuration_of(const Setting& s) {
  Configuration configuration;
  configuration.values = {s.warps_k, s.warps_n, s.tiles, s.stages, s.cols, s.split, s.ctas};
  return configuration;
}

std::string name_of(const Setting& s) {
  return fmt::format("lowbit_{}x{}_t{}_s{}_n{}_k{}_c{}", s.warps_k, s.warps_n, s.tiles, s.stages,
                     s.cols, s.split, s.ctas);
}

int tile_bytes(const Problem& p) {
  return 128 * p.weight->bits + 16 * scale_bytes(p);
}

Dealt deal(const Setting& s, const Problem& p, const CudaProfile& gpu, int clusters) {
  Dealt dealt;
  dealt.tiles = static_cast<int>(tiles_of(p.n, 16));
  dealt.share = static_cast<int>(tiles_of(dealt.tiles, std::max(1, clusters)));
  dealt.passes = static_cast<int>(tiles_of(dealt.share, s.warps_n * s.tiles));
  dealt.clusters = static_cast<int>(tiles_of(dealt.tiles, dealt.share));
  const std::int64_t steps = tiles_of(tiles_of(tiles_of(p.k, 64), s.split), s.warps_k);
  const int slot = s.cols * (s.warps_k * 128 + 16);
  const int exchanged = s.split == 1 ? 0 : 2 * s.split * s.warps_n * s.tiles * 64 * s.cols;
  const int ring = s.warps_k * s.warps_n * s.stages * s.tiles * tile_bytes(p);
  const int fixed = table_and_sums(*p.weight) + kBarrierBytes + exchanged + ring;
  const int room = std::min(static_cast<int>(gpu.shared_per_sm) / s.ctas - kReserved,
                            static_cast<int>(gpu.shared_per_block)) -
                   fixed;
  const auto most = static_cast<int>(std::clamp<std::int64_t>(steps, 1, kMaxSlots));
  dealt.slots = std::clamp(room / slot, 0, most);
  // A ring that goes round is filled one slot behind.
  if (dealt.slots < std::min<std::int64_t>(steps, 3)) dealt.slots = 0;
  const int shared = fixed + dealt.slots * slot;
  dealt.shared_bytes = static_cast<std::size_t>(shared);
  return dealt;
}

int resident_clusters(const Setting& s, const CudaProfile& gpu) {
  // Clusters of 4 and more leave some SMs of a GPC unused: 116 to 120 of 132 on an H200.
  const int sms = s.split > 2 ? gpu.multiprocessors * 10 / 11 : gpu.multiprocessors;
  return std::max(1, sms * s.ctas / s.split);
}

}  // namespace gemwright::cuda_lowbit
