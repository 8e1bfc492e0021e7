#include "families/cuda_stream/setting.hpp"

#include "device/profile.hpp"
#include "families/cuda_common/layout.hpp"
#include "problem/transposed.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gemwright::cuda_stream {
namespace {

using cuda_layout::tiles_of;

// Boxes start at multiples of 1024 bytes, and the last rows of a wgmma may lie past the ring.
constexpr int kAllowance = 1024 + 64 * 128;
constexpr int kMaxStages = 32;
constexpr int kLeastRows = 8;

}  // namespace

Setting setting_of(const Configuration& configuration) {
  const auto& v = configuration.values;
  return {.path = static_cast<Path>(v[0]),
          .rows = v[1],
          .cols = v[2],
          .warps = v[3],
          .unroll = v[4],
          .ring_kb = v[5],
          .split = v[6],
          .ctas = v[7],
          .swap = v[8] != 0};
}

Configuration configuration_of(const Setting& s) {
  Configuration configuration;
  configuration.values = {static_cast<int>(s.path),
                          s.rows,
                          s.cols,
                          s.warps,
                          s.unroll,
                          s.ring_kb,
                          s.split,
                          s.ctas,
                          s.swap};
  return configuration;
}

std::string name_of(const Setting& s) {
  const char* transposed = s.swap ? "_t" : "";
  if (s.path == Path::direct) {
    return fmt::format("stream_mma_{}x{}_w{}_u{}_k{}_c{}{}", s.rows, s.cols, s.warps, s.unroll,
                       s.split, s.ctas, transposed);
  }
  return fmt::format("stream_ring_{}x{}_b{}_r{}_k{}_c{}{}", s.rows, s.cols, s.unroll, s.ring_kb,
                     s.split, s.ctas, transposed);
}

Problem view_of(const Problem& problem, bool swap) {
  return swap ? transposed(problem) : problem;
}

RingPlan plan_ring(const Setting& s, const Problem& p, int slots) {
  // Tiles that run at once, and how often each place takes one.
  const std::int64_t across = std::max(1, slots / s.split);
  const std::int64_t passes = tiles_of(p.n * p.batch, across * s.rows);
  if (s.split > 1 && passes > 1) return {};  // partial sums are exchanged once
  // As many tiles of each batch entry as fill the passes, but none of more rows than a CTA takes.
  const std::int64_t wanted = std::max(across * passes / p.batch, tiles_of(p.n, s.rows));
  const std::int64_t rows = std::max<std::int64_t>(tiles_of(p.n, wanted), kLeastRows);
  RingPlan plan;
  plan.rows = static_cast<int>(rows);
  plan.tiles = static_cast<int>(tiles_of(p.n, rows));
  const std::int64_t all = plan.tiles * p.batch;
  if (all > INT32_MAX || (s.split > 1 && all > across)) return {};
  plan.grid = std::min(across, all) * s.split;
  const int stage = s.unroll * (static_cast<int>(tiles_of(rows, 8)) * 1024 + s.cols * 128);
  plan.stages = std::min(kMaxStages, s.ring_kb * 1024 / stage);
  return plan.stages < 2 ? RingPlan{} : plan;
}

int ring_shared_bytes(const Setting& setting) {
  return setting.ring_kb * 1024 + kAllowance;
}

int most_ring_kb(const Setting& s, const CudaProfile& gpu) {
  constexpr int kReserved = 1024;  // that the driver takes of each CTA
  const int each = std::min(static_cast<int>(gpu.shared_per_sm) / s.ctas - kReserved,
                            static_cast<int>(gpu.shared_per_block));
  // Barriers, and the partial sums that the other CTAs of a cluster send: see gemm_stream_ring.cu.
  const auto own_blocks = static_cast<int>(tiles_of(s.cols / 8, s.split));
  const int senders = std::max(1, s.split - 1);
  const int partial = senders * own_blocks * (s.split > 1 ? 128 * s.consumers() : 1) * 16;
  const int fixed = (2 * kMaxStages + 2) * 8 + partial;
  return (each - kAllowance - fixed) / 1024;
}

}  // namespace gemwright::cuda_stream
