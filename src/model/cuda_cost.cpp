#include "model/cuda_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Part of L2 that holds tiles until they are read again; the rest is output and noise.
constexpr double kUsableL2 = 0.6;
constexpr double kSharedBytesPerClock = 128;
// Stores of the last tiles and the grid's end.
constexpr double kDrain = 0.7e-6;

double divide_up(double a, double b) {
  return std::ceil(a / b);
}

// Bytes from memory: each operand once, and the second again for every group of tile rows when L2
// cannot keep it from one group to the next.
double memory_bytes(const CudaProfile& gpu, const TiledWork& w) {
  const double usable = kUsableL2 * static_cast<double>(gpu.l2_bytes);
  const double a = static_cast<double>(w.m) * static_cast<double>(w.k) * w.bytes_a;
  const double b = static_cast<double>(w.k) * static_cast<double>(w.n) * w.bytes_b;
  const double groups =
      divide_up(static_cast<double>(w.m), static_cast<double>(w.group) * w.tile_m);
  const double again = a + b > usable ? (groups - 1) * std::min(1.0, b / usable) : 0;
  const double batch = static_cast<double>(w.batch);
  const double out = static_cast<double>(w.m) * static_cast<double>(w.n) * w.bytes_out;
  return a * (w.shared_a ? 1 : batch) + b * (1 + again) * (w.shared_b ? 1 : batch) + out * batch;
}

}  // namespace

Estimate tiled_time(const CudaProfile& gpu, const TiledWork& w) {
  const double sms = gpu.multiprocessors;
  const double l2_rate = gpu.l2_bytes_per_s > 0 ? gpu.l2_bytes_per_s : 1.6 * gpu.memory_bytes_per_s;
  const double tiles = divide_up(static_cast<double>(w.m), w.tile_m) *
                       divide_up(static_cast<double>(w.n), w.tile_n) * static_cast<double>(w.batch);
  const double ctas = tiles * w.splits;
  const double steps = divide_up(divide_up(static_cast<double>(w.k), w.tile_k), w.splits);
  const double on_busiest = divide_up(ctas, sms);
  const double resident = std::min<double>(w.ctas_per_sm, on_busiest);

  // One k-tile of one CTA that has the SM for itself.
  const double stage_bytes = (w.tile_m * w.bytes_a + w.tile_n * w.bytes_b) * w.tile_k;
  const double math = 2.0 * w.tile_m * w.tile_n * w.tile_k * sms / w.flops_per_s;
  const double l2 = (w.tile_m * w.bytes_a / w.multicast_a + w.tile_n * w.bytes_b / w.multicast_b) *
                    w.tile_k * sms / l2_rate;
  const double shared = w.shared_bytes / (kSharedBytesPerClock * gpu.clock_ghz * 1e9);
  // Bytes in flight over latency bound what one SM may draw.
  const double in_flight = resident * (w.stages - 1) * stage_bytes;
  const double latency = resident * stage_bytes * gpu.memory_latency_s / in_flight;
  const double step = std::max({math, l2, shared, latency}) + w.step_overhead_s / resident;

  const double fills = w.persistent ? 1 : divide_up(on_busiest, resident);
  const double busy = on_busiest * steps * step + (fills - 1) * gpu.memory_latency_s;
  const double memory = memory_bytes(gpu, w) / gpu.memory_bytes_per_s;
  double overhead = gpu.launch_s + gpu.memory_latency_s + kDrain;
  if (w.splits > 1) {
    const double partials = 2 * ctas * w.tile_m * w.tile_n * sizeof(float);
    overhead += w.reduce_s + partials / l2_rate;
  }

  Estimate estimate;
  estimate.us = 1e6 * (overhead + std::max(busy, memory));
  if (overhead > std::max(busy, memory)) {
    estimate.bound = Bound::overhead;
  } else if (memory >= busy) {
    estimate.bound = Bound::memory;
  } else if (latency >= std::max({math, l2, shared})) {
    estimate.bound = Bound::latency;
  } else {
    const double filled = ctas / (on_busiest * sms);
    estimate.bound = filled < 0.8 ? Bound::waves : l2 > math ? Bound::memory : Bound::math;
  }
  return estimate;
}

}  // namespace gemwright::model
