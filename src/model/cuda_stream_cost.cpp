#include "model/cuda_stream_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Fitted to an H200: what each says, and how well they do, is in docs/performance/cuda-model.md.
// What does not depend on the bytes is the time from the launch to the end of the kernel.
constexpr double kStartDirect = 2.06e-6;  // first loads, sum over warps, store
constexpr double kStartRing = 2.65e-6;    // and descriptors, barriers, the pipeline's length
constexpr double kLatency = 0.57e-6;      // of memory under load
constexpr double kCopy = 41e-9;           // one bulk copy after the other of a CTA
// Bytes a clock that one SM gets of L2: activations that many CTAs read at once come cheaper.
constexpr double kL2BytesDirect = 57;
constexpr double kL2BytesRing = 63;
// Ramps of the places that take a second CTA, each; the part of the last ones' time that shows.
constexpr double kRamp = 1.06e-6;
constexpr double kLeftOver = 0.7;

// Cluster barrier and the way through another CTA's shared memory.
double split_seconds(const StreamWork& w) {
  if (w.split == 1) return 0;
  return w.ring ? 0.39e-6 + 0.194e-6 * w.split : 0.45e-6 + 0.05e-6 * w.split;
}

// CTAs that find no place at first: the last of them run when few others do, with fewer bytes in
// flight, and where a multiprocessor holds one CTA its ramp is seen each time.
double left_over_seconds(const StreamWork& w, double slots, double memory_rate) {
  if (w.ring || w.ctas <= slots) return 0;
  const double last = w.ctas - std::floor((w.ctas - 1) / slots) * slots;
  const double bytes = w.weight_bytes / w.ctas * last;
  const double rate = std::min(memory_rate, last * w.bytes_in_flight / kLatency);
  const double ramps = w.ctas_per_sm == 1 ? kRamp * std::min(w.ctas / slots - 1, 2.5) : 0;
  return ramps + kLeftOver * (bytes / rate - bytes / memory_rate);
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
  const double stream = std::max(std::hypot(memory, l2) + left_over, products);
  const double fixed = gpu.launch_s + (w.ring ? kStartRing : kStartDirect) + split_seconds(w);
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
