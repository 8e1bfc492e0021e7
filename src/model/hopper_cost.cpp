#include "model/hopper_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Fitted to 56 shapes and about 60 settings each on an H200; see docs/performance/hopper.md.
constexpr double kClock = 1.83e9;        // between power-bound and cool
constexpr double kFlopsPerClock = 4096;  // of one SM, 16-bit
constexpr double kMathEfficiency = 0.854;
constexpr double kBytesIntoSm = 67;   // a clock, from L2 and multicast together
constexpr double kBytesFromL2 = 60;   // a clock and SM, when all SMs draw
constexpr double kSustained = 0.688;  // of the data sheet's peak: power bounds long products
// Clocks that threads take for 128 bytes of a stage: by vectors, by elements of 2 bytes.
constexpr double kVectorClocks = 11.5;
constexpr double kElementClocks = 28;
// From the end of the kernel before to the first product, and the last store: launch, barriers,
// descriptors, latency.
constexpr double kStart = 1.67e-6;
constexpr double kStoreClocks = 796;   // a consumer's epilogue for 64 x 128 outputs
constexpr double kExchange = 0.62e-6;  // sums of a split K through distributed shared memory
constexpr double kExchangePerByte = 2.73e-6 / 65536;
constexpr double kCombine = 3.74e-6;  // sums of stream-K through L2
// Clusters that read a cold weight at about the same time do not get it from L2 for nothing.
constexpr double kReadAgain = 0.39;
constexpr double kMostReaders = 4.0;
// How sharply the largest bound decides, among those of a k-block and of the whole.
constexpr double kStepSharpness = 19;
constexpr double kSharpness = 9.3;

double divide_up(double a, double b) {
  return std::ceil(a / b);
}

// Clusters that run at a time: GPCs have a number of SMs that large clusters do not divide.
double clusters_at_a_time(int cluster, int multiprocessors) {
  const double usable = cluster <= 2 ? multiprocessors : multiprocessors * 10 / 11;
  return std::floor(usable / cluster);
}

// Clocks for one row of a stage (128 bytes).
double row_clocks(Ingest ingest, int element_bytes) {
  switch (ingest) {
    case Ingest::vectors:
      return kVectorClocks;
    case Ingest::elements:
      return kElementClocks * 2 / element_bytes;
    default:
      return 128 / kBytesIntoSm;
  }
}

double power(double x, double n) {
  return std::exp2(n * std::log2(x));
}

// The largest of three, and more where others come near.
double soft_max(double a, double b, double c, double sharpness) {
  const double largest = std::max({a, b, c});
  const double sum =
      power(a / largest, sharpness) + power(b / largest, sharpness) + power(c / largest, sharpness);
  return largest * power(sum, 1 / sharpness);
}

}  // namespace

Estimate hopper_cost(const HopperWork& w, const CudaProfile& gpu) {
  const int cluster = w.cluster_m * w.cluster_n * w.split;
  const double batch = static_cast<double>(w.batch);
  const auto m = static_cast<double>(w.m);
  const auto n = static_cast<double>(w.n);
  const auto k = static_cast<double>(w.k);
  const double clusters_m = divide_up(m, w.tile_m * w.cluster_m);
  const double clusters_n = divide_up(n, w.tile_n * w.cluster_n);
  const double waves =
      clusters_m * clusters_n * batch / clusters_at_a_time(cluster, gpu.multiprocessors);
  const double blocks = divide_up(divide_up(k, 128.0 / w.input_bytes), w.split);

  // One k-block of 128 bytes, in clocks of one SM.
  const double rate = kFlopsPerClock * 2 / w.input_bytes;
  const double flops = 2.0 * w.tile_m * w.tile_n * 128.0 / w.input_bytes;
  const double math = flops / (rate * kMathEfficiency);
  const double load = w.tile_m * row_clocks(w.ingest_a, w.input_bytes) +
                      w.tile_n * row_clocks(w.ingest_b, w.input_bytes);
  // What no CTA of a cluster sends to the others; threads that load draw all of it themselves.
  const double drawn = 128.0 * (static_cast<double>(w.tile_m) / w.cluster_n +
                                static_cast<double>(w.tile_n) / w.cluster_m);
  const double busy_sms =
      std::min(1.0, clusters_m * clusters_n * batch * cluster / gpu.multiprocessors);
  const double l2 = drawn / kBytesFromL2 * busy_sms;
  const double step = soft_max(math, load, l2, kStepSharpness);

  const bool streams = w.stream_k && waves != std::floor(waves);
  const double rounds = streams ? waves : std::ceil(waves);
  const double rows = static_cast<double>(w.tile_m) / (w.ping_pong ? 1 : w.consumers) / 64;
  const double store = rows * w.tile_n / 128.0 / w.split * kStoreClocks;
  // Consumers that take turns store while the other one multiplies.
  const double stores = w.ping_pong ? store : std::ceil(rounds) * store;
  const double busy = (rounds * blocks * step + stores + load) / kClock;

  const double a = m * k * w.input_bytes;
  const double b = n * k * w.input_bytes;
  const double readers = std::min(kMostReaders, m > n ? clusters_n : clusters_m);
  const double bytes =
      batch * (a + b + m * n * w.output_bytes + kReadAgain * (readers - 1) * std::max(a, b));
  // Three quarters of the SMs draw all that memory gives.
  const double drawing = std::min(1.0, busy_sms / 0.75);
  const double memory = bytes / (gpu.memory_bytes_per_s * drawing);
  const double sustained = 2.0 * m * n * k * batch /
                           (kSustained * (w.input_bytes == 2 ? gpu.f16_flops : gpu.tf32_flops));

  double overhead = kStart;
  if (w.split > 1) {
    overhead += kExchange + kExchangePerByte * w.tile_m * w.tile_n * 4.0 * (1 - 1.0 / w.split);
  }
  if (streams) overhead += kCombine;

  const double work = soft_max(busy, memory, sustained, kSharpness);
  Estimate estimate;
  estimate.us = 1e6 * (overhead + work);
  if (overhead > work) {
    estimate.bound = Bound::overhead;
  } else if (memory >= busy) {
    estimate.bound = Bound::memory;
  } else if (!streams && std::ceil(waves) > 1.2 * waves) {
    estimate.bound = Bound::waves;
  } else {
    estimate.bound = std::max(load, l2) > math ? Bound::memory : Bound::math;
  }
  return estimate;
}

}  // namespace gemwright::model
