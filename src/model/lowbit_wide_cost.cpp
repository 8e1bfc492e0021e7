#include "model/lowbit_wide_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// An H200, 3072x3072 to 28672x4096, 1 to 4096 rows (docs/performance/lowbit.md).
constexpr double kStart = 2.35e-6;         // launch, table, first loads, store
constexpr double kExchange = 0.7e-6;       // parts of a split K inside a cluster
constexpr double kExchangeEach = 0.18e-6;  // and for each of its CTAs
constexpr double kMeet = 0.3e-6;           // parts of consumers that share K
constexpr double kCombine = 13e-6;         // parts of streamed tiles by way of L2
constexpr double kClock = 1.755e9;         // that it runs at
constexpr double kMatrix = 0.94;           // of the matrix unit's rate
constexpr double kDecode = 52;             // issue slots of a warp for a block of 64 x 64, by table
constexpr double kArithmetic = 18;         // more of them, where integers are not looked up
constexpr double kScaleWeights = 49;       // more, where weights are scaled before they are used
constexpr double kPart = 19;               // more for every part of the columns but the first
constexpr double kLatency = 274;           // clocks that a consumer takes for a block at least
constexpr double kLatencyColumn = 2.1;     // and for each column
constexpr double kInTurn = 210;            // more of them, where it decodes before it multiplies
constexpr double kBytesPerClock = 35;      // that one SM draws from L2

// Sums that overlap, but not wholly: a norm.
double soft_max(double a, double b, double sharpness) {
  const double largest = std::max(a, b);
  const double ratio = std::min(a, b) / largest;
  return largest * std::pow(1 + std::pow(ratio, sharpness), 1 / sharpness);
}

// Clocks of an SM for a block of all its consumers. While the matrix unit reads and writes its
// accumulators other instructions wait for registers, so that the two do not overlap.
double block_clocks(const LowbitWideWork& w) {
  constexpr double kSharpness = 4;
  const double decode = kDecode + (w.arithmetic ? kArithmetic : 0.0) +
                        (w.scales_weights ? kScaleWeights : 0.0) + kPart * (w.parts - 1);
  const int sums = w.sums_activations ? 2 : 1;
  const double issue = w.consumers * (decode + sums * w.sums_scaled * w.cols / 2);
  const double part = static_cast<double>(w.cols) / w.parts;
  const double matrix = sums * w.consumers * 4.0 * w.parts * std::max(part / 2, 16.0) / kMatrix;
  const double latency = kLatency + kLatencyColumn * w.cols + (w.overlaps ? 0.0 : kInTurn);
  const double bytes =
      (w.across ? w.consumers : 1) * w.rows_read * 128.0 + w.consumers * 64.0 * w.row_bytes;
  return soft_max(issue + matrix, soft_max(latency, bytes / kBytesPerClock, kSharpness),
                  kSharpness);
}

}  // namespace

// Clusters leave SMs of a GPC unused: of 132 those of 3 to 6 CTAs about 12, larger ones 27.
int clusters_at_a_time(int split, int multiprocessors) {
  const int sms = split > 6   ? multiprocessors * 4 / 5
                  : split > 2 ? multiprocessors * 10 / 11
                              : multiprocessors;
  return std::max(1, sms / split);
}

Estimate lowbit_wide_time(const CudaProfile& gpu, const LowbitWideWork& w) {
  const double waves = w.tiles / clusters_at_a_time(w.split, gpu.multiprocessors);
  const double rounds = w.stream_k ? std::max(waves, 0.2) : std::ceil(waves);
  const double math = rounds * std::ceil(w.blocks / (w.split * (w.across ? w.consumers : 1))) *
                      block_clocks(w) / kClock;
  const double busy = w.stream_k ? 1.0 : std::min(1.0, w.tiles * w.split / gpu.multiprocessors);
  // Three quarters of the SMs draw all that memory gives.
  const double drawing = std::min(1.0, busy / 0.75);
  const double memory = w.weight_bytes / (gpu.memory_bytes_per_s * drawing);
  constexpr double kSharpness = 6;
  const double work = soft_max(math, memory, kSharpness);
  const double fixed = kStart + (w.split > 1 ? kExchange + kExchangeEach * w.split : 0.0) +
                       (w.across ? kMeet : 0.0) + (w.stream_k ? kCombine : 0.0);
  const double output = 0.5 * w.output_bytes / gpu.memory_bytes_per_s;
  Estimate estimate;
  estimate.us = (fixed + work + output) * 1e6;
  estimate.bound = fixed > work ? Bound::latency : math > memory ? Bound::math : Bound::memory;
  return estimate;
}

}  // namespace gemwright::model
