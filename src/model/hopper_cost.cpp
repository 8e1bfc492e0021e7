#include "model/hopper_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Fitted to 60 shapes and about 100 settings each on an H200; see docs/performance/hopper.md.
constexpr double kClock = 1.81e9;        // between power-bound and cool
constexpr double kFlopsPerClock = 4096;  // of one SM, 16-bit
constexpr double kMathEfficiency = 0.914;
constexpr double kBytesIntoSm = 64;  // a clock, from L2 and multicast together
// Clocks that threads take for 128 bytes of a stage: by vectors, by elements of 2 bytes.
constexpr double kVectorClocks = 11.5;
constexpr double kElementClocks = 28;
constexpr double kSustained = 0.716;  // of the data sheet's peak: power bounds long products
// From the end of the kernel before to the first product, and the last store: launch, barriers,
// descriptors, latency.
constexpr double kStart = 2.6e-6;
constexpr double kStoreClocks = 1140;  // a consumer's epilogue for 64 x 128 outputs
constexpr double kExchange = 1.25e-6;  // sums of a split K through distributed shared memory
constexpr double kExchangePerByte = 1.8e-6 / 65536;
constexpr double kCombine = 2.7e-6;  // sums of stream-K through L2
// Clusters that read a cold weight at about the same time do not get it from L2 for nothing.
constexpr double kReadAgain = 0.45;
constexpr double kMostReaders = 3.8;
// How sharply the largest bound decides.
constexpr double kSharpness = 8;

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
  const double step = std::max(math, load);

  const bool streams = w.stream_k && waves != std::floor(waves);
  const double rounds = streams ? waves : std::ceil(waves);
  const double rows = static_cast<double>(w.tile_m) / (w.ping_pong ? 1 : w.consumers) / 64;
  const double store = rows * w.tile_n / 128.0 / w.split * kStoreClocks;
  // Consumers that take turns store while the other one multiplies.
  const double stores = w.ping_pong ? store : std::ceil(rounds) * store;
  const double busy = (rounds * blocks * step + stores) / kClock;

  const double a = m * k * w.input_bytes;
  const double b = n * k * w.input_bytes;
  const double readers = std::min(kMostReaders, m > n ? clusters_n : clusters_m);
  const double bytes =
      batch * (a + b + m * n * w.output_bytes + kReadAgain * (readers - 1) * std::max(a, b));
  // Three quarters of the SMs draw all that memory gives.
  const double drawing = std::min(1.0, std::min(1.0, waves) / 0.75);
  const double memory = bytes / (gpu.memory_bytes_per_s * drawing);
  const double sustained = 2.0 * m * n * k * batch /
                           (kSustained * (w.input_bytes == 2 ? gpu.f16_flops : gpu.tf32_flops));

  double overhead = kStart;
  if (w.split > 1) {
    overhead += kExchange + kExchangePerByte * w.tile_m * w.tile_n * 4.0 * (1 - 1.0 / w.split);
  }
  if (streams) overhead += kCombine;

  const double largest = std::max({busy, memory, sustained});
  const double sum = power(busy / largest, kSharpness) + power(memory / largest, kSharpness) +
                     power(sustained / largest, kSharpness);
  const double work = largest * power(sum, 1 / kSharpness);
  Estimate estimate;
  estimate.us = 1e6 * (overhead + work);
  if (overhead > work) {
    estimate.bound = Bound::overhead;
  } else if (memory >= busy) {
    estimate.bound = Bound::memory;
  } else if (!streams && std::ceil(waves) > 1.2 * waves) {
    estimate.bound = Bound::waves;
  } else {
    estimate.bound = load > math ? Bound::memory : Bound::math;
  }
  return estimate;
}

}  // namespace gemwright::model
