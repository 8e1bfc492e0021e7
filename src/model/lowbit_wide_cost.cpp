#include "model/lowbit_wide_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

constexpr double kStart = 3.6e-6;      // launch, table, first loads, store
constexpr double kExchange = 0.7e-6;   // parts of a split K inside a cluster
constexpr double kCombine = 1.8e-6;    // parts of streamed tiles by way of L2
constexpr double kMatrix = 0.86;       // of the matrix unit's rate, at best
constexpr double kDecode = 78;         // issue slots of a warp for a block of 64 x 64
constexpr double kLatency = 330;       // clocks that a consumer takes for a block at least
constexpr double kBytesPerClock = 40;  // that one SM draws
constexpr double kSharpness = 3;

double clusters_at_a_time(int split, int multiprocessors) {
  // Clusters of 4 and more leave some SMs of a GPC unused.
  const double sms = split > 2 ? multiprocessors * 10 / 11.0 : multiprocessors;
  return std::max(1.0, std::floor(sms / split));
}

}  // namespace

Estimate lowbit_wide_time(const CudaProfile& gpu, const LowbitWideWork& w) {
  const double clock = gpu.clock_ghz * 1e9;
  const double waves = w.tiles / clusters_at_a_time(w.split, gpu.multiprocessors);
  const double rounds = w.stream_k ? std::max(waves, 0.2) : std::ceil(waves);
  const double busy = std::min(1.0, w.stream_k ? 1.0 : w.tiles * w.split / gpu.multiprocessors);

  // Of a block, in clocks of an SM: a warp of each consumer shares a scheduler.
  const double matrix = w.consumers * 4.0 * std::max(w.cols / 2.0, 16.0) / kMatrix;
  const double scaling = w.scales_sums ? w.cols / 2.0 : w.scales_weights ? 16.0 : 0.0;
  const double vector = w.consumers * (kDecode + scaling);
  const double latency = kLatency + 2.0 * w.cols + scaling;
  const double copies = (w.cols * 128.0 + w.consumers * 64.0 * w.row_bytes) / kBytesPerClock;
  const double block = std::max({matrix, vector, latency, copies});
  const double math = rounds * std::ceil(w.blocks / w.split) * block / clock;

  // Three quarters of the SMs draw all that memory gives.
  const double drawing = std::min(1.0, busy / 0.75);
  const double memory = w.weight_bytes / (gpu.memory_bytes_per_s * drawing);
  const double longest = std::max(math, memory);
  const double work = longest * std::pow(std::pow(math / longest, kSharpness) +
                                             std::pow(memory / longest, kSharpness),
                                         1 / kSharpness);
  const double fixed = kStart + (w.split > 1 ? kExchange : 0.0) + (w.stream_k ? kCombine : 0.0);
  const double output = 0.5 * w.output_bytes / gpu.memory_bytes_per_s;
  Estimate estimate;
  estimate.us = (fixed + work + output) * 1e6;
  estimate.bound = fixed > work ? Bound::latency : math > memory ? Bound::math : Bound::memory;
  return estimate;
}

}  // namespace gemwright::model
