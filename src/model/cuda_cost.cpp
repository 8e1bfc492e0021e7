#include "model/cuda_cost.hpp"

#include "model/lanes.hpp"

#include <algorithm>

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
// Split-K: fences and the arrival, without the partials. One CTA alone draws those at this part of
// its share of L2.
constexpr double kReduce = 1.46e-6;
constexpr double kReduceRate = 0.4;
// Rows of tiles that are walked together.
constexpr double kGroup = 8;

// What all settings share.
struct Terms {
  double m, n, k, batch, bytes_a, bytes_b;
  double sms, per_sm;
  double l2_s;          // a byte that one SM draws
  double memory_s;      // each operand once
  double read_again_s;  // the second operand, for each further group of tile rows
  double overhead_s;
};

Terms terms_of(const CudaProfile& gpu, const TiledProduct& p) {
  Terms t{};
  t.m = static_cast<double>(p.m);
  t.n = static_cast<double>(p.n);
  t.k = static_cast<double>(p.k);
  t.batch = static_cast<double>(p.batch);
  t.bytes_a = p.bytes_a;
  t.bytes_b = p.bytes_b;
  t.sms = gpu.multiprocessors;
  t.per_sm = 1 / t.sms;
  t.l2_s = 1 / (kL2BytesPerClock * gpu.clock_ghz * 1e9);
  // The second operand is read again when L2 cannot keep it from one group to the next.
  const double usable = kUsableL2 * static_cast<double>(gpu.l2_bytes);
  const double a = t.m * t.k * p.bytes_a;
  const double b = t.k * t.n * p.bytes_b;
  const double reads_b = b * (p.shared_b ? 1 : t.batch);
  const double once = a * (p.shared_a ? 1 : t.batch) + reads_b + t.m * t.n * p.bytes_out * t.batch;
  const double again = a + b > usable ? reads_b * std::min(1.0, b / usable) : 0;
  t.memory_s = once / gpu.memory_bytes_per_s;
  t.read_again_s = again / gpu.memory_bytes_per_s;
  t.overhead_s = gpu.launch_s + kLatency + kDrain;
  return t;
}

// The same of two settings.
struct Pair {
  Pair(const TiledSetting& a, const TiledSetting& b)
      : tile_m{a.tile_m, b.tile_m},
        tile_n{a.tile_n, b.tile_n},
        tile_k{a.tile_k, b.tile_k},
        splits{a.splits, b.splits},
        ctas_per_sm{a.ctas_per_sm, b.ctas_per_sm},
        stages{a.stages, b.stages},
        shared_a{a.shared_a, b.shared_a},
        flops_per_s{a.flops_per_s, b.flops_per_s},
        step_overhead_s{a.step_overhead_s, b.step_overhead_s} {}

  Lanes tile_m, tile_n, tile_k, splits, ctas_per_sm, stages, shared_a, flops_per_s, step_overhead_s;
};

// Two things that overlap, but hinder each other the more the nearer they are.
Lanes overlapped(Lanes a, Lanes b) {
  return square_root(a * a + b * b);
}

Times times_of(const Terms& t, const Pair& s) {
  const Lanes split_k = s.tile_k * s.splits;
  const Lanes inverse = 1 / (s.tile_m * s.tile_n * split_k);
  const Lanes inverse_m = inverse * (s.tile_n * split_k);
  const Lanes inverse_n = inverse * (s.tile_m * split_k);
  const Lanes tiles = ceil_div(both(t.m), inverse_m) * ceil_div(both(t.n), inverse_n) * t.batch;
  const Lanes ctas = tiles * s.splits;
  const Lanes steps = ceil_div(both(t.k), inverse * (s.tile_m * s.tile_n));
  const Lanes on_busiest = ceil_div(ctas, both(t.per_sm));
  const Lanes resident = least(s.ctas_per_sm, on_busiest);
  const Lanes per_resident = 1 / resident;

  // One k-tile of one CTA that has the SM for itself.
  const Lanes math = 2 * s.tile_m * s.tile_n * s.tile_k * t.sms / s.flops_per_s;
  const Lanes l2 = (s.tile_m * t.bytes_a / s.shared_a + s.tile_n * t.bytes_b) * s.tile_k * t.l2_s;
  const Lanes products = overlapped(math, l2);
  // What is in flight over latency bounds what one SM may draw.
  const Lanes latency = kLatency / (resident * (s.stages - 1));
  const Lanes step = most(products, latency) + s.step_overhead_s * per_resident;

  const Lanes fills = ceil_div(on_busiest, per_resident);
  const Lanes busy = on_busiest * steps * step + (fills - 1) * kLatency * per_resident;
  const Lanes groups = ceil_div(both(t.m), inverse_m * (1 / kGroup));
  const Lanes memory = t.memory_s + (groups - 1) * t.read_again_s;
  // Every CTA of a split writes its own; the last of a tile reads them all.
  const Lanes partials = (1 + s.splits) * s.tile_m * s.tile_n * sizeof(float);
  const Lanes reduce = kReduce + partials * (t.l2_s / kReduceRate);
  const Lanes overhead = t.overhead_s + (s.splits > 1 ? reduce : both(0));
  const Lanes work = cubic_sum(busy, memory);

  Lanes bound = l2 > math ? of_bound(Bound::memory) : of_bound(Bound::math);
  bound = ctas < 0.8 * on_busiest * t.sms ? of_bound(Bound::waves) : bound;
  bound = latency >= products ? of_bound(Bound::latency) : bound;
  bound = memory >= busy ? of_bound(Bound::memory) : bound;
  bound = overhead > work ? of_bound(Bound::overhead) : bound;
  return {1e6 * (overhead + work), bound};
}

}  // namespace

void tiled_times(const CudaProfile& gpu, const TiledProduct& product,
                 std::span<const TiledSetting> settings, std::span<Estimate> estimates) {
  const Terms terms = terms_of(gpu, product);
  two_at_a_time(settings, estimates,
                [&](const auto& a, const auto& b) { return times_of(terms, Pair(a, b)); });
}

}  // namespace gemwright::model
