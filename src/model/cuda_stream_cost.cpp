#include "model/cuda_stream_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Fitted to an H200, 10 shapes of 8 to 134 MB and 1 to 64 rows (docs/performance/stream.md): what
// does not depend on the bytes is the time from the end of the kernel before to that of this one.
constexpr double kStartDirect = 2.4e-6;  // launch, first loads, sum over warps, store
constexpr double kStartRing = 3.1e-6;    // and descriptors, barriers, the pipeline's length
constexpr double kLatency = 0.64e-6;     // of memory under load
constexpr double kCopy = 43e-9;          // one bulk copy after the other of a CTA
// Bytes a clock that one SM gets of L2: activations that many CTAs read at once come cheaper.
constexpr double kL2BytesDirect = 47;
constexpr double kL2BytesRing = 54;
// Weights and activations share the way from L2, which shows where they are nearly equal.
constexpr double kSharpness = 2.5;

double soft_maximum(double a, double b) {
  const double larger = std::max(a, b);
  const double smaller = std::min(a, b);
  return larger * std::pow(1 + std::pow(smaller / larger, kSharpness), 1 / kSharpness);
}

// Cluster barrier and the way through another CTA's shared memory.
double split_seconds(const StreamWork& w) {
  if (w.split == 1) return 0;
  return w.ring ? 0.1e-6 + 0.22e-6 * w.split : 0.3e-6 + 0.155e-6 * w.split;
}

// CTAs that find no place at first: the last of them run when few others do, with fewer bytes in
// flight, and where a multiprocessor holds one CTA its ramp is seen each time.
double left_over_seconds(const StreamWork& w, double slots, double memory_rate) {
  if (w.ring || w.ctas <= slots) return 0;
  const double last = w.ctas - std::floor((w.ctas - 1) / slots) * slots;
  const double bytes = w.weight_bytes / w.ctas * last;
  const double rate = std::min(memory_rate, last * w.bytes_in_flight / kLatency);
  const double ramps = w.ctas_per_sm == 1 ? 0.9e-6 * std::min(w.ctas / slots - 1, 2.5) : 0;
  return ramps + 0.35 * (bytes / rate - bytes / memory_rate);
}

}  // namespace

Estimate stream_time(const CudaProfile& gpu, const StreamWork& w) {
  const double clock = gpu.clock_ghz * 1e9;
  const double slots = static_cast<double>(w.ctas_per_sm) * w.multiprocessors;
  const double resident = std::min(w.ctas, slots);
  const double in_flight_rate = resident * w.bytes_in_flight / kLatency;
  const double memory_rate = std::min(gpu.memory_bytes_per_s, in_flight_rate);
  const double memory = w.weight_bytes / memory_rate;
  const double l2_rate = std::min<double>(w.multiprocessors, w.ctas) * clock *
                         (w.ring ? kL2BytesRing : kL2BytesDirect);
  // Twice the rows do not save half of the activations' time on the direct path.
  const double weight = w.ring ? 1 : std::min(2.0, w.rows / 16.0);
  const double l2 = (w.weight_bytes + weight * w.ctas * w.row_bytes) / l2_rate;
  // A consumer's instructions on one block of K, in clocks; the producer's two copies.
  double products = 0;
  if (w.ring) {
    const double clocks = 4.0 * std::max(16, w.cols / 2) + 60;
    products = w.blocks_of_k * std::max(clocks / clock, 2 * kCopy);
  }
  const double left_over = left_over_seconds(w, slots, memory_rate);
  const double stream = std::max(soft_maximum(memory, l2) + left_over, products);
  const double fixed = (w.ring ? kStartRing : kStartDirect) + split_seconds(w);
  const double output = w.output_bytes / gpu.memory_bytes_per_s;
  Estimate estimate;
  estimate.us = (fixed + stream + output) * 1e6;
  estimate.bound = fixed > stream                            ? Bound::latency
                   : products > memory                       ? Bound::math
                   : in_flight_rate < gpu.memory_bytes_per_s ? Bound::latency
                                                             : Bound::memory;
  return estimate;
}

}  // namespace gemwright::model
