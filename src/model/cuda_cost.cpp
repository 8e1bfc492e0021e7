#include "model/cuda_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Fitted to an H200: what each says, and how well they do, is in docs/performance/cuda-model.md.
// Beside them the rate of the instructions is each family's, the launch the profile's.
//
// Part of L2 that holds tiles until they are read again; the rest is output and noise.
constexpr double kUsableL2 = 0.6;
// From L2 to one multiprocessor; the hardware's path is 64 bytes wide.
constexpr double kL2BytesPerClock = 51;
// Of a load while many are under way: more than a lone one takes.
constexpr double kLatency = 0.96e-6;
// Stores of the last tiles and the grid's end.
constexpr double kDrain = 0.79e-6;
// One CTA alone draws partials at this part of its share of L2.
constexpr double kReduceRate = 0.4;

// Two things that overlap, but hinder each other the more the nearer they are.
double overlapped(double a, double b) {
  return std::sqrt(a * a + b * b);
}

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
  const double l2_rate = kL2BytesPerClock * sms * gpu.clock_ghz * 1e9;
  const double tiles = divide_up(static_cast<double>(w.m), w.tile_m) *
                       divide_up(static_cast<double>(w.n), w.tile_n) * static_cast<double>(w.batch);
  const double ctas = tiles * w.splits;
  const double steps = divide_up(divide_up(static_cast<double>(w.k), w.tile_k), w.splits);
  const double on_busiest = divide_up(ctas, sms);
  const double resident = std::min<double>(w.ctas_per_sm, on_busiest);

  // One k-tile of one CTA that has the SM for itself.
  const double math = 2.0 * w.tile_m * w.tile_n * w.tile_k * sms / w.flops_per_s;
  const double l2 = (w.tile_m * w.bytes_a / w.multicast_a + w.tile_n * w.bytes_b / w.multicast_b) *
                    w.tile_k * sms / l2_rate;
  // What is in flight over latency bounds what one SM may draw.
  const double latency = kLatency / (resident * (w.stages - 1));
  const double step = std::max(overlapped(math, l2), latency) + w.step_overhead_s / resident;

  const double fills = w.persistent ? 1 : divide_up(on_busiest, resident);
  const double busy = on_busiest * steps * step + (fills - 1) * kLatency / resident;
  const double memory = memory_bytes(gpu, w) / gpu.memory_bytes_per_s;
  double overhead = gpu.launch_s + kLatency + kDrain;
  if (w.splits > 1) {
    // Every CTA writes its own; the last of a tile reads them all.
    const double partials = (1.0 + w.splits) * w.tile_m * w.tile_n * sizeof(float);
    overhead += w.reduce_s + partials / (kReduceRate * l2_rate / sms);
  }

  Estimate estimate;
  const double work = std::cbrt(busy * busy * busy + memory * memory * memory);
  estimate.us = 1e6 * (overhead + work);
  if (overhead > work) {
    estimate.bound = Bound::overhead;
  } else if (memory >= busy) {
    estimate.bound = Bound::memory;
  } else if (latency >= overlapped(math, l2)) {
    estimate.bound = Bound::latency;
  } else {
    const double filled = ctas / (on_busiest * sms);
    estimate.bound = filled < 0.8 ? Bound::waves : l2 > math ? Bound::memory : Bound::math;
  }
  return estimate;
}

}  // namespace gemwright::model
