#include "model/lowbit_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Fitted to an H200, 5 shapes of 5 to 250 MB and 1 to 32 rows (docs/performance/lowbit.md).
constexpr double kStart = 3.16e-6;         // launch, table, first loads, store
constexpr double kTable = 0.8e-6;          // of that the table
constexpr double kSplitSeconds = 0.34e-6;  // exchange inside a cluster
constexpr double kLatency = 1.8e-6;        // of memory under load
constexpr double kL2Bytes = 32;            // a clock, that one SM gets of L2
// Of a fragment of 16 x 16 weights, in clocks of one scheduler: what it issues; and what a warp
// waits, that others may fill.
constexpr double kIssue = 6.3;
constexpr double kIssueColumns = 5.8;  // for each 8 rows of activations
constexpr double kPerStep = 33;        // once for all tiles of a step
constexpr double kPerStepColumns = 28;
constexpr double kWait = 44;
constexpr double kWaitColumns = 7.7;
// Sums over the warps, a pass.
constexpr double kPass = 0.52e-6;
constexpr double kPassColumns = 0.25e-6;  // and tile
// Loads, L2 and arithmetic overlap, but not wholly.
constexpr double kSharpness = 1.97;

// What a group's scale adds, beyond the first of 64 columns.
double group_slots(const LowbitWork& w) {
  return (w.scale_groups - 1) / 4 * (4 + w.cols / 2.0);
}

}  // namespace

Estimate lowbit_time(const CudaProfile& gpu, const LowbitWork& w) {
  const double clock = gpu.clock_ghz * 1e9;
  const double columns = w.cols / 8.0;
  const double sms = std::min<double>(gpu.multiprocessors, w.ctas / w.ctas_per_sm);
  const double in_flight = w.ctas * w.stage_bytes * (w.stages - 1) / kLatency;
  const double memory = w.weight_bytes / std::min(gpu.memory_bytes_per_s, in_flight);
  const double l2 = (w.weight_bytes + w.ctas * w.activation_bytes) / (sms * clock * kL2Bytes);
  const double warps = static_cast<double>(w.warps) * w.ctas_per_sm / 4;  // a scheduler
  const double issue = kIssue + kIssueColumns * columns + group_slots(w) +
                       (kPerStep + kPerStepColumns * columns) / w.tiles;
  const double wait = kWait + kWaitColumns * columns + group_slots(w);
  const double fragments = w.passes * w.tiles * w.blocks_of_k * 4;  // of a warp
  const double math = fragments * std::max(warps * issue, wait) / clock;
  const double longest = std::max({memory, l2, math});
  const double middle = memory + l2 + math - longest - std::min({memory, l2, math});
  const double stream =
      std::pow(std::pow(longest, kSharpness) + std::pow(middle, kSharpness), 1 / kSharpness);
  const double sums = w.passes * (kPass + kPassColumns * columns * w.tiles);
  const double fixed = kStart - (w.table ? 0 : kTable) + (w.split > 1 ? kSplitSeconds : 0);
  Estimate estimate;
  estimate.us = (fixed + w.row_blocks * (sums + stream)) * 1e6;
  estimate.bound = fixed > stream ? Bound::latency : math > memory ? Bound::math : Bound::memory;
  return estimate;
}

}  // namespace gemwright::model
