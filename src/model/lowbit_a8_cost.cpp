#include "model/lowbit_a8_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// An H200, 4096x4096 to 28672x4096, 64 to 4096 rows (docs/performance/lowbit_a8.md).
constexpr double kStart = 3.0e-6;          // launch, first loads, store
constexpr double kRound = 2.3e-6;          // the launch that rounds, at least
constexpr double kRoundingRate = 0.8;      // of the memory's
constexpr double kClock = 1.6e9;           // that it runs at
constexpr double kColumn = 5.2 / 2;        // clocks of a window for a column and consumer
constexpr double kScaledColumn = 1.2 / 2;  // for each sum but the first
constexpr double kLeast = 480;             // clocks of a window

// Clocks of a window for a consumer beside its products.
double decoding_clocks(Decoding decoding) {
  switch (decoding) {
    case Decoding::none:
      return 125;
    case Decoding::looked_up:
      return 200;
    case Decoding::scaled:
      return 310;
  }
  return 0;
}

// Clocks of an SM for a window of all its consumers.
double window_clocks(const LowbitA8Work& w) {
  const double column = kColumn + (w.sums - 1) * kScaledColumn;
  return std::max(kLeast, w.consumers * (decoding_clocks(w.decoding) + w.cols * column));
}

}  // namespace

double rounding_us(const CudaProfile& gpu, double elements, int bytes) {
  return 1e6 * (kRound + elements * bytes / (kRoundingRate * gpu.memory_bytes_per_s));
}

Estimate lowbit_a8_time(const CudaProfile& gpu, const LowbitA8Work& w) {
  const double waves = w.tiles * w.cluster / gpu.multiprocessors;
  const double math = std::ceil(waves) * w.windows * window_clocks(w) / kClock;
  // Three quarters of the SMs draw all that memory gives.
  const double drawing = std::min(1.0, waves / 0.75);
  const double memory = w.weight_bytes / (gpu.memory_bytes_per_s * drawing);
  const double work = std::max(math, memory);
  const double rounding = 1e-6 * rounding_us(gpu, w.activation_elements, w.activation_bytes + 1);
  Estimate estimate;
  estimate.us = (kStart + rounding + work) * 1e6;
  estimate.bound = kStart + rounding > work ? Bound::latency
                   : math > memory          ? Bound::math
                                            : Bound::memory;
  return estimate;
}

}  // namespace gemwright::model
