#include "model/hopper_cost.hpp"

#include "model/lanes.hpp"

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
constexpr double kReadEfficiency = 0.99;  // of memory's attainable rate
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

// What all settings share.
struct Terms {
  double m, n, batch;
  double blocks;  // of 128 bytes of K
  double sms, sms_of_clusters;
  bool warps;
  double clock_s;                   // of one clock
  double threads_a_s, threads_b_s;  // for a row of a k-block
  double zeros_a_s, zeros_b_s;      // for a row past the operand's end
  double memory_s;                  // each operand once
  double read_again_s;              // for each further reader of the larger operand
  bool larger_a;
  double sustained_s;  // where power limits the clock
  double overhead_s;
};

Terms terms_of(const CudaProfile& gpu, const HopperProduct& p) {
  Terms t{};
  t.m = static_cast<double>(p.m);
  t.n = static_cast<double>(p.n);
  t.batch = static_cast<double>(p.batch);
  const double k = static_cast<double>(p.k);
  t.blocks = std::ceil(k * p.input_bytes / 128);
  t.sms = gpu.multiprocessors;
  // GPCs have a number of SMs that large clusters do not divide.
  const int usable = gpu.multiprocessors * 10 / 11;
  t.sms_of_clusters = usable;
  t.warps = p.warps;
  t.clock_s = 1 / (kBoost * gpu.clock_ghz * 1e9);
  t.threads_a_s = row_clocks(p.ingest_a, p.input_bytes) * t.clock_s;
  t.threads_b_s = row_clocks(p.ingest_b, p.input_bytes) * t.clock_s;
  t.zeros_a_s = p.ingest_a == Ingest::bulk ? kZeroRowClocks * t.clock_s : 0;
  t.zeros_b_s = p.ingest_b == Ingest::bulk ? kZeroRowClocks * t.clock_s : 0;

  const double a = t.m * k * p.input_bytes;
  const double b = t.n * k * p.input_bytes;
  const double byte_s = t.batch / (kReadEfficiency * gpu.memory_bytes_per_s);
  t.memory_s = (a + b + t.m * t.n * p.output_bytes) * byte_s;
  t.read_again_s = kReadAgain * std::max(a, b) * byte_s;
  t.larger_a = a > b;
  const double peak = p.input_bytes == 2 ? gpu.f16_flops : gpu.tf32_flops;
  const double sustained = p.warps ? kWarpSustained : kSustained;
  t.sustained_s = 2.0 * t.m * t.n * k * t.batch / (sustained * peak);
  t.overhead_s = gpu.launch_s + kStart;
  return t;
}

// The same of two settings.
struct Pair {
  Pair(const HopperSetting& a, const HopperSetting& b)
      : tile_m{a.tile_m, b.tile_m},
        tile_n{a.tile_n, b.tile_n},
        stages{a.stages, b.stages},
        cluster_m{a.cluster_m, b.cluster_m},
        cluster_n{a.cluster_n, b.cluster_n},
        split{a.split, b.split},
        consumers{a.consumers, b.consumers},
        stream_k{a.stream_k ? 1.0 : 0.0, b.stream_k ? 1.0 : 0.0},
        ping_pong{a.ping_pong ? 1.0 : 0.0, b.ping_pong ? 1.0 : 0.0} {}

  Lanes tile_m, tile_n, stages, cluster_m, cluster_n, split, consumers, stream_k, ping_pong;
};

// Clocks of shared memory for a k-block of mma.sync, 128 bytes each: what lands, and what warps of
// a quarter of the rows and the columns of their warpgroup read.
Lanes shared_clocks(const Pair& s) {
  return s.tile_m + s.tile_n + s.consumers * s.tile_m + 4 * s.tile_n;
}

// Rows past the operand, of the average tile; of a lone tile only those that are there are copied.
Lanes zero_rows(double size, Lanes tile, Lanes tiles) {
  return size <= tile ? both(0) : tile - size / tiles;
}

// One k-block of 128 bytes. The largest of a few bounds, and more where others come near (what
// overlaps hinders each other), is the fourth root of the sum of their fourth powers: these are.
class Step {
 public:
  Step(const Terms& t, const Pair& s, Lanes cluster, Lanes tiles_m, Lanes tiles_n)
      : in_cluster_(cluster > 1 ? both(kRoundInCluster) : both(0)),
        per_stage_(1 / s.stages),
        zeros_(t.zeros_a_s * zero_rows(t.m, s.tile_m, tiles_m) +
               t.zeros_b_s * zero_rows(t.n, s.tile_n, tiles_n)) {
    const Lanes clocks = 2.0 * 64 / kFlopsPerClock * s.tile_m * s.tile_n;
    math_ = t.warps ? fourth(clocks * (t.clock_s / kWarpEfficiency)) +
                          fourth(shared_clocks(s) * t.clock_s)
                    : fourth(clocks * (t.clock_s / kMathEfficiency));
    threads_ = fourth(s.tile_m * t.threads_a_s + s.tile_n * t.threads_b_s);
  }

  /// When this share of the SMs is busy.
  Lanes operator()(Lanes busy) const {
    return math_ + threads_ + fourth((kRound + busy * in_cluster_) * per_stage_) +
           fourth(busy * zeros_);
  }

  /// Whether the products take longer than what else it needs.
  auto bound_by_math() const { return math_ >= most(fourth(kRound * per_stage_), threads_); }

 private:
  Lanes in_cluster_, per_stage_, zeros_;
  Lanes math_{}, threads_{};
};

// A product as clusters see it: rounds of tiles, the last of which may fill a part of the SMs only.
Times times_of(const Terms& t, const Pair& s) {
  const Lanes per_split = 1 / s.split;
  const Lanes cluster = s.cluster_m * s.cluster_n * s.split;
  const Lanes edge_m = s.tile_m * s.cluster_m;
  const Lanes edge_n = s.tile_n * s.cluster_n;
  const Lanes inverse = 1 / (edge_m * edge_n);
  const Lanes inverse_m = inverse * edge_n;
  const Lanes inverse_n = inverse * edge_m;
  const Lanes across_m = ceil_div(both(t.m), inverse_m);
  const Lanes across_n = ceil_div(both(t.n), inverse_n);
  const Lanes clusters = across_m * across_n * t.batch;
  const Lanes sms = cluster <= 2 ? both(t.sms) : both(t.sms_of_clusters);
  const Lanes at_a_time = most(both(1), floor_div(sms, 1 / cluster));
  const Lanes per_round = 1 / at_a_time;
  const Lanes full = floor_div(clusters, per_round);
  const Lanes rest = clusters - full * at_a_time;
  const Lanes waves = clusters * per_round;
  const auto streams = (rest > 0) & (s.stream_k > 0);

  const Lanes readers = least(both(kMostReaders), t.larger_a ? across_n : across_m);
  const Lanes memory = t.memory_s + (readers - 1) * t.read_again_s;
  const Lanes of_cluster = memory / clusters;
  const Step step(t, s, cluster, ceil_div(both(t.m), inverse_m * s.cluster_m),
                  ceil_div(both(t.n), inverse_n * s.cluster_n));
  const Lanes blocks = fourth(ceil_div(both(t.blocks), per_split));
  const Lanes round = fourth_root(blocks * step(both(1)) + fourth(of_cluster * at_a_time));
  const Lanes busy_sms = least(both(1), rest * cluster * (1 / t.sms));
  const Lanes last = fourth_root(blocks * step(busy_sms) + fourth(of_cluster * rest));
  const Lanes whole = full * round + (rest > 0 ? last : both(0));
  const Lanes rounds = streams ? waves * round : whole;

  // Consumers that take turns store while the other one multiplies.
  const Lanes takes = full + (rest > 0 ? both(1) : both(0));
  const Lanes stores = kStoreClocks / 64 / 128 * t.clock_s * s.tile_m * s.tile_n * per_split *
                       (s.ping_pong > 0 ? both(1) : takes / s.consumers);
  const Lanes busy = fourth_root(fourth(rounds + stores) + fourth(both(t.sustained_s)));
  const Lanes exchanged = s.tile_m * s.tile_n * 4 * (1 - per_split);
  const Lanes overhead = t.overhead_s + (cluster > 1 ? both(kStartCluster) : both(0)) +
                         kExchangePerByte * exchanged + (streams ? both(kCombine) : both(0));

  Lanes bound = step.bound_by_math() ? of_bound(Bound::math) : of_bound(Bound::latency);
  bound = (takes > 1.2 * waves) & ~streams ? of_bound(Bound::waves) : bound;
  bound = memory >= 0.7 * rounds ? of_bound(Bound::memory) : bound;
  bound = overhead > busy ? of_bound(Bound::overhead) : bound;
  return {1e6 * (overhead + busy), bound};
}

}  // namespace

void hopper_times(const CudaProfile& gpu, const HopperProduct& product,
                  std::span<const HopperSetting> settings, std::span<Estimate> estimates) {
  const Terms terms = terms_of(gpu, product);
  two_at_a_time(settings, estimates,
                [&](const auto& a, const auto& b) { return times_of(terms, Pair(a, b)); });
}

}  // namespace gemwright::model
