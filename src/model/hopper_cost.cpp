#include "model/hopper_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::model {
namespace {

// Fitted to an H200: what each says, and how well they do, is in docs/performance/cuda-model.md.
//
// The clock while power does not bind, over the one that the data sheet's peaks are for.
constexpr double kBoost = 1.08;
constexpr double kFlopsPerClock = 4096;  // of one SM, 16-bit
constexpr double kMathEfficiency = 0.9;
// mma.sync takes 1.5 times as long as wgmma at its best, and waits for what else is issued: see
// docs/performance/mma.md.
constexpr double kWarpEfficiency = 0.62;
constexpr double kWarpSustained = 0.64;
constexpr double kSustained = 0.692;      // of the data sheet's peak: power bounds long products
constexpr double kReadEfficiency = 0.93;  // of memory's attainable rate
// A stage's round: copy issued, data there, multiplied, free again. In a cluster each round waits
// for every CTA's, the longer the busier the device is.
constexpr double kRound = 1.35e-6;
constexpr double kRoundInCluster = 0.26e-6;
// A row past the operand's end, which a bulk copy fills with zeros: clocks of a k-block, when all
// SMs copy.
constexpr double kZeroRowClocks = 15.3;
// Clocks that threads take for 128 bytes of a stage: by vectors, by elements of 2 bytes.
constexpr double kVectorClocks = 11.5;
constexpr double kElementClocks = 28;
constexpr double kStart = 1.28e-6;         // beside the launch: barriers, descriptors, first stage
constexpr double kStartCluster = 0.36e-6;  // its CTAs find their places, and gather
constexpr double kStoreClocks = 1300;      // a consumer's epilogue for 64 x 128 outputs
constexpr double kExchangePerByte = 2.9e-11;  // of sums of a split K, s
constexpr double kCombine = 3.7e-6;           // sums of stream-K through L2
// Clusters that read a cold weight at about the same time do not get it from L2 for nothing.
constexpr double kReadAgain = 0.43;
constexpr double kMostReaders = 4;

double divide_up(double a, double b) {
  return std::ceil(a / b);
}

double fourth(double x) {
  return x * x * x * x;
}

// The largest of a few bounds, and more where others come near: what overlaps hinders each other.
template <typename... Bounds>
double soft_max(Bounds... bounds) {
  return std::sqrt(std::sqrt((fourth(bounds) + ...)));
}

// Clocks of the threads for one row of a stage (128 bytes); bulk copies take none.
double row_clocks(Ingest ingest, int element_bytes) {
  switch (ingest) {
    case Ingest::vectors:
      return kVectorClocks;
    case Ingest::elements:
      return kElementClocks * 2 / element_bytes;
    default:
      return 0;
  }
}

// Rows past the operand, of the average tile; of a lone tile only those that are there are copied.
double zero_rows(double size, double tile) {
  if (size <= tile) return 0;
  const double tiles = std::max(1.0, divide_up(size, tile));
  return tile - size / tiles;
}

// Clocks of shared memory for a k-block of mma.sync, 128 bytes each: what lands, and what warps of
// a quarter of the rows and the columns of their warpgroup read.
double shared_clocks(const HopperWork& w) {
  return w.tile_m + w.tile_n + w.consumers * (w.tile_m + 4.0 * w.tile_n / w.consumers);
}

// A product as clusters see it: rounds of tiles, the last of which may fill a part of the SMs only.
class Schedule {
 public:
  Schedule(const HopperWork& w, const CudaProfile& gpu)
      : w_(w),
        gpu_(gpu),
        cluster_(w.cluster_m * w.cluster_n * w.split),
        m_(static_cast<double>(w.m)),
        n_(static_cast<double>(w.n)),
        k_(static_cast<double>(w.k)),
        across_m_(divide_up(m_, w.tile_m * w.cluster_m)),
        across_n_(divide_up(n_, w.tile_n * w.cluster_n)),
        clusters_(across_m_ * across_n_ * static_cast<double>(w.batch)),
        at_a_time_(clusters_at_a_time()),
        blocks_(divide_up(divide_up(k_, 128.0 / w.input_bytes), w.split)) {
    // Of a k-block.
    const double clock = kBoost * gpu.clock_ghz * 1e9;
    const double math = 2.0 * w.tile_m * w.tile_n * 64 / kFlopsPerClock;
    math_s_ =
        (w.warps ? soft_max(math / kWarpEfficiency, shared_clocks(w)) : math / kMathEfficiency) /
        clock;
    threads_s_ = (w.tile_m * row_clocks(w.ingest_a, w.input_bytes) +
                  w.tile_n * row_clocks(w.ingest_b, w.input_bytes)) /
                 clock;
    zeros_s_ = kZeroRowClocks / clock *
               ((w.ingest_a == Ingest::bulk ? zero_rows(m_, w.tile_m) : 0) +
                (w.ingest_b == Ingest::bulk ? zero_rows(n_, w.tile_n) : 0));
    store_s_ = kStoreClocks / clock * w.tile_m / (w.ping_pong ? 1 : w.consumers) / 64 * w.tile_n /
               128 / w.split;
  }

  double waves() const { return clusters_ / at_a_time_; }
  bool streams() const { return w_.stream_k && waves() != std::floor(waves()); }

  // All rounds, without what comes before and after.
  double rounds_s() const {
    const double full = std::floor(waves());
    const double rest = clusters_ - full * at_a_time_;
    const double round = round_s(at_a_time_, 1);
    if (streams()) return waves() * round;
    if (rest == 0) return full * round;
    return full * round + round_s(rest, std::min(1.0, rest * cluster_ / gpu_.multiprocessors));
  }

  // Consumers that take turns store while the other one multiplies.
  double stores_s() const { return w_.ping_pong ? store_s_ : std::ceil(waves()) * store_s_; }

  double memory_s() const {
    const double a = m_ * k_ * w_.input_bytes;
    const double b = n_ * k_ * w_.input_bytes;
    const double readers = std::min(kMostReaders, a > b ? across_n_ : across_m_);
    const double bytes =
        a + b + m_ * n_ * w_.output_bytes + kReadAgain * (readers - 1) * std::max(a, b);
    return static_cast<double>(w_.batch) * bytes / (kReadEfficiency * gpu_.memory_bytes_per_s);
  }

  // Where power limits the clock.
  double sustained_s() const {
    const double peak = w_.input_bytes == 2 ? gpu_.f16_flops : gpu_.tf32_flops;
    const double sustained = w_.warps ? kWarpSustained : kSustained;
    return 2.0 * m_ * n_ * k_ * static_cast<double>(w_.batch) / (sustained * peak);
  }

  double overhead_s() const {
    double s = gpu_.launch_s + kStart;
    if (cluster_ > 1) s += kStartCluster;
    if (w_.split > 1) s += kExchangePerByte * w_.tile_m * w_.tile_n * 4.0 * (1 - 1.0 / w_.split);
    if (streams()) s += kCombine;
    return s;
  }

  // Whether the products of a k-block take longer than what else it needs.
  bool bound_by_math() const { return math_s_ >= std::max(kRound / w_.stages, threads_s_); }

 private:
  // GPCs have a number of SMs that large clusters do not divide.
  double clusters_at_a_time() const {
    const int sms = cluster_ <= 2 ? gpu_.multiprocessors : gpu_.multiprocessors * 10 / 11;
    return std::max(1.0, std::floor(static_cast<double>(sms) / cluster_));
  }

  // A round of so many clusters, which take this share of the SMs.
  double round_s(double clusters, double busy) const {
    return soft_max(blocks_ * step_s(busy), memory_s() * clusters / clusters_);
  }

  // One k-block of 128 bytes.
  double step_s(double busy) const {
    const double round = kRound + (cluster_ > 1 ? busy * kRoundInCluster : 0);
    return soft_max(math_s_, threads_s_, round / w_.stages, busy * zeros_s_);
  }

  const HopperWork& w_;
  const CudaProfile& gpu_;
  int cluster_;
  double m_, n_, k_, across_m_, across_n_, clusters_, at_a_time_, blocks_;
  double math_s_ = 0, threads_s_ = 0, zeros_s_ = 0, store_s_ = 0;
};

}  // namespace

Estimate hopper_cost(const HopperWork& work, const CudaProfile& gpu) {
  const Schedule schedule(work, gpu);
  const double rounds = schedule.rounds_s();
  const double memory = schedule.memory_s();
  const double busy = soft_max(rounds + schedule.stores_s(), schedule.sustained_s());
  const double overhead = schedule.overhead_s();
  Estimate estimate;
  estimate.us = 1e6 * (overhead + busy);
  const double waves = schedule.waves();
  if (overhead > busy) {
    estimate.bound = Bound::overhead;
  } else if (memory >= 0.7 * rounds) {
    estimate.bound = Bound::memory;
  } else if (!schedule.streams() && std::ceil(waves) > 1.2 * waves) {
    estimate.bound = Bound::waves;
  } else {
    estimate.bound = schedule.bound_by_math() ? Bound::math : Bound::latency;
  }
  return estimate;
}

}  // namespace gemwright::model
