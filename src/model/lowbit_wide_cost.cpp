#include "model/lowbit_wide_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// An H200, 4096x4096 to 28672x4096, 1 to 4096 rows (docs/performance/lowbit.md).
constexpr double kStart = 3.1e-6;          // launch, table, first loads, store
constexpr double kExchange = 0.4e-6;       // parts of a split K inside a cluster
constexpr double kExchangeEach = 0.13e-6;  // and for each of its CTAs
constexpr double kCombine = 6e-6;          // parts of streamed tiles by way of L2
constexpr double kClock = 1.755e9;         // that it runs at
constexpr double kMatrix = 0.86;           // of the matrix unit's rate, at best
constexpr double kDecode = 76;             // issue slots of a warp for a block of 64 x 64, by table
constexpr double kArithmetic = 12;         // more of them, where integers are not looked up
constexpr double kLatency = 330;           // clocks that a consumer takes for a block at least
constexpr double kInTurn = 150;            // more of them, where it decodes before it multiplies
constexpr double kBytesPerClock = 30;      // that one SM draws from L2
// What a block takes of an SM's parts overlaps, but not wholly.
constexpr double kSharpness = 4;

double soft_max(double a, double b) {
  const double largest = std::max(a, b);
  const double ratio = std::min(a, b) / largest;
  return largest * std::pow(1 + std::pow(ratio, kSharpness), 1 / kSharpness);
}

// Clocks of an SM for a block of all its consumers.
double block_clocks(const LowbitWideWork& w) {
  const double scaling = w.scales_sums ? w.cols / 2.0 : w.scales_weights ? 16.0 : 0.0;
  const double decode = kDecode + (w.arithmetic ? kArithmetic : 0.0);
  const double issue = w.consumers * (decode + scaling);
  const double matrix = w.consumers * 4.0 * std::max(w.cols / 2.0, 16.0) / kMatrix;
  const double latency = kLatency + w.cols + (w.overlaps ? 0.0 : kInTurn);
  const double bytes = w.rows_read * 128.0 + w.consumers * 64.0 * w.row_bytes;
  return soft_max(soft_max(issue, matrix), soft_max(latency, bytes / kBytesPerClock));
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
  const double math = rounds * std::ceil(w.blocks / w.split) * block_clocks(w) / kClock;
  const double busy = w.stream_k ? 1.0 : std::min(1.0, w.tiles * w.split / gpu.multiprocessors);
  // Three quarters of the SMs draw all that memory gives.
  const double drawing = std::min(1.0, busy / 0.75);
  const double memory = w.weight_bytes / (gpu.memory_bytes_per_s * drawing);
  const double work = soft_max(math, memory);
  const double fixed = kStart + (w.split > 1 ? kExchange + kExchangeEach * w.split : 0.0) +
                       (w.stream_k ? kCombine : 0.0);
  const double output = 0.5 * w.output_bytes / gpu.memory_bytes_per_s;
  Estimate estimate;
  estimate.us = (fixed + work + output) * 1e6;
  estimate.bound = fixed > work ? Bound::latency : math > memory ? Bound::math : Bound::memory;
  return estimate;
}

}  // namespace gemwright::model
