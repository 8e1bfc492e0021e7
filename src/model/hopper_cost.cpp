#include "model/hopper_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Measured on an H200; see docs/performance/hopper.md.
constexpr double kMathEfficiency = 0.92;  // of the peak at the clock, all operands at hand
constexpr double kSustained = 0.80;       // of the data sheet's peak: power bounds long products
constexpr double kL2BytesPerClock = 44;   // that one SM draws
constexpr double kStepClocks = 40;        // of a k-block, that nothing hides
constexpr double kFill = 1.3e-6;          // descriptors, barriers, the first stage's latency
constexpr double kStoreClocksPer64Rows = 700;  // a consumer's epilogue for 64 x 128 outputs
constexpr double kExchange = 0.9e-6;  // sums of a split K through distributed shared memory
constexpr double kCombine = 2.5e-6;   // sums of stream-K through L2

double divide_up(double a, double b) {
  return std::ceil(a / b);
}

// Clusters that run at a time: GPCs have a number of SMs that large clusters do not divide.
double clusters_at_a_time(int cluster, int multiprocessors) {
  const double usable = cluster <= 2 ? multiprocessors : multiprocessors * 10 / 11;
  return std::floor(usable / cluster);
}

}  // namespace

Estimate hopper_cost(const HopperWork& w, const CudaProfile& gpu) {
  const double clock = gpu.clock_ghz * 1e9;
  const double sms = gpu.multiprocessors;
  const int cluster = w.cluster_m * w.cluster_n * w.split;
  const double batch = static_cast<double>(w.batch);
  const auto m = static_cast<double>(w.m);
  const auto n = static_cast<double>(w.n);
  const auto k = static_cast<double>(w.k);
  const double cluster_tiles =
      divide_up(m, w.tile_m * w.cluster_m) * divide_up(n, w.tile_n * w.cluster_n) * batch;
  const double clusters = clusters_at_a_time(cluster, gpu.multiprocessors);
  const double blocks = divide_up(divide_up(k, 128.0 / w.input_bytes), w.split);

  // One k-block of 128 bytes, in clocks of one SM.
  const double peak = (w.input_bytes == 2 ? gpu.f16_flops : gpu.tf32_flops) / (sms * clock);
  const double flops = 2.0 * w.tile_m * w.tile_n * 128.0 / w.input_bytes;
  // wgmma reads its 64 rows of A and all of B from shared memory, 128 bytes a clock.
  const double shared = w.tile_m / 64.0 * (64.0 + w.tile_n);
  const double math = std::max(flops / (peak * kMathEfficiency), shared);
  const double loaded = 128.0 * (static_cast<double>(w.tile_m) / w.cluster_n +
                                 static_cast<double>(w.tile_n) / w.cluster_m);
  const double l2 = loaded / kL2BytesPerClock;
  const double step = std::max(math, l2) + kStepClocks;

  const double waves = cluster_tiles / clusters;
  const bool streams = w.stream_k && waves != std::floor(waves);
  const double rounds = streams ? waves : std::ceil(waves);
  const double rows = static_cast<double>(w.tile_m) / (w.ping_pong ? 1 : w.consumers) / 64;
  const double store = rows * w.tile_n / 128.0 / w.split * kStoreClocksPer64Rows;
  // Consumers that take turns store while the other one multiplies.
  const double stores = w.ping_pong ? store : std::ceil(rounds) * store;
  const double busy = (rounds * blocks * step + stores) / clock;

  const double bytes = batch * ((m * k + n * k) * w.input_bytes + m * n * w.output_bytes);
  const double memory = bytes / gpu.memory_bytes_per_s;
  const double power = 2.0 * m * n * k * batch /
                       (kSustained * (w.input_bytes == 2 ? gpu.f16_flops : gpu.tf32_flops));
  double overhead = gpu.launch_s + kFill;
  if (w.split > 1) overhead += kExchange;
  if (streams) overhead += kCombine;

  const double work = std::max({busy, memory, power});
  Estimate estimate;
  estimate.us = 1e6 * (overhead + work);
  if (overhead > work) {
    estimate.bound = Bound::overhead;
  } else if (memory >= busy) {
    estimate.bound = Bound::memory;
  } else if (std::ceil(waves) > 1.2 * waves && !streams) {
    estimate.bound = Bound::waves;
  } else {
    estimate.bound = l2 > math ? Bound::memory : Bound::math;
  }
  return estimate;
}

}  // namespace gemwright::model
