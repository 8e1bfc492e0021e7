// Warp-specialised GEMM for sm_90a of a packed low-bit weight with activations in e4m3, which the
// launch before (quantise_rows) wrote: the product of codes by wgmma in fp8, which keeps about 14
// bits of its sums, so that these are scaled and added up in fp32 at least every 128 columns. It
// sees D^T = W * A^T: its m is N, its n is M. Producer threads fill a ring of activations, codes
// and scales by bulk copies; consumer warpgroups turn codes into the register operand. Persistent
// over tiles.
//
// The preamble defines: kBits, kCodes, kScaleType, kGroup (columns that share a scale; 0: all),
// kZeros, kGlobalScale; kTypeD, kStore, kHasC, kTypeC, kBias, kTypeBias; kTileN, kPart (columns of
// one instruction, a divisor of it), kSums (1 or 2 parts that are under way), kStages, kConsumers
// (of 64 weight rows each), kBuffers; kOverlap (a consumer decodes while it multiplies), or kTurns
// (consumers multiply in turn, and decode meanwhile); kCluster (CTAs, of adjacent weight rows, that
// send each other their shares of the activations); and what quantise_rows.cuh names.
#include "epilogue_wgmma.cuh"
#include "hopper_schedule.cuh"
#include "lowbit_fp8.cuh"
#include "lowbit_ring.cuh"
#include "mainloop_wgmma.cuh"
#include "quantise_rows.cuh"

namespace gemwright_device {

using Decoder = WindowDecoder<kBits, kCodes, kScaleType, kGroup, kZeros, !kOverlap>;
using Places = Decoder::Places;
using Window = Decoder::Window;
using Product = Wgmma<WgmmaE4m3, WgmmaTail<false, false, false>, kPart / 2>;
using GemmEpilogue = WarpgroupEpilogue<kStore, kBuffers, kTypeD, kHasC, kTypeC, kBias, kTypeBias>;

/// A stage is a window: 128 columns, two blocks of the weight.
constexpr int kSets = Decoder::kSets;
constexpr int kActivationBytes = kTileN * 128;
using Stage = WeightStage<Decoder, kConsumers, 2, kSets, true>;
constexpr int kRingBytes = kStages * (kActivationBytes + Stage::kBytes);
constexpr int kBuffersAt = (kRingBytes + 1023) / 1024 * 1024;

template <int kWidth, bool kUsed>
struct BufferBytes {
  static constexpr int kValue = 0;
};
template <int kWidth>
struct BufferBytes<kWidth, true> {
  static constexpr int kValue = kBuffers * Chunk<kStore, kTypeD, kWidth, kHasC>::kBufferBytes;
};
constexpr int kBufferBytes = BufferBytes<kTileN, kStore != kStoreDirect>::kValue;
constexpr int kTablesAt = kBuffersAt + kConsumers * kBufferBytes;
constexpr int kSharedAt = (kTablesAt + Decoder::Bytes::kTableBytes + 15) / 16 * 16;

constexpr int kThreads = 128 * (1 + kConsumers);
constexpr int kProducerRegisters = 32;
constexpr int kConsumerRegisters = consumer_registers(kConsumers, kProducerRegisters);

/// What a window's products are cut into: a part of the columns for one group. kSums units are
/// under way at a time, a divisor of their number: which sums are whose is then known to the
/// compiler.
constexpr int kParts = kTileN / kPart;
constexpr int kUnits = Decoder::kGroups * kParts;
static_assert(kUnits % kSums == 0);
constexpr int kStepsOfUnit = 4 / Decoder::kGroups;
static_assert(kTileN % kPart == 0 && kTileN % (8 * kCluster) == 0);
static_assert(!kOverlap || !kTurns);

/// Ids of barriers: 1 + c is for the threads of consumer c; kTurn + c opens the matrix unit to it.
constexpr int kTurn = 8;

struct Shared {
  Barrier full[kStages];
  Barrier empty[kStages];
};

/// What all roles know.
struct Work {
  char* memory;
  unsigned ring;  // its address
  Shared& shared;
  unsigned full, empty;  // addresses of barriers
  const LowbitWideParams& p;
  int rank;  // in the cluster
  int cluster;
  int steps;  // windows of a tile

  __device__ __forceinline__ unsigned activations(int stage) const {
    return ring + stage * kActivationBytes;
  }
  __device__ __forceinline__ unsigned weights(int stage) const {
    return ring + kStages * kActivationBytes + stage * Stage::kBytes;
  }
  __device__ __forceinline__ Segments<false> segments() const {
    return {p.hopper, cluster, 0, steps};
  }
  /// Number of a consumer's first row of 64.
  __device__ __forceinline__ int wide_tile(const HopperTile& tile, int consumer) const {
    return (tile.m * kCluster + rank) * kConsumers + consumer;
  }
  /// Whether a window has one block of the weight only.
  __device__ __forceinline__ bool is_short(int step) const {
    return 2 * step + 1 == p.weight.blocks;
  }
  static __device__ __forceinline__ int block_of(int step, int /*consumer*/) { return 2 * step; }
  __device__ __forceinline__ int depth(int step, int /*consumer*/) const {
    return is_short(step) ? 1 : 2;
  }
};

/// One thread. The map counts in pairs of codes.
__device__ __forceinline__ void produce_activations(const Work& work, const TensorMap* map) {
  each_step<kStages>(work, [&](const HopperTile& tile, int step, int stage) {
    Barrier* full = &work.shared.full[stage];
    barrier_arrive_expect(full, kActivationBytes);
    char* to = work.memory + stage * kActivationBytes;
    if constexpr (kCluster == 1) {
      copy_in(to, map, full, step * 64, tile.n * kTileN, 0, work.p.hopper.b_policy);
    } else {
      constexpr int kShare = kTileN / kCluster;
      copy_in_multicast(to + work.rank * (kShare * 128), map, full, step * 64,
                        tile.n * kTileN + work.rank * kShare, 0, work.p.hopper.b_policy,
                        (1 << kCluster) - 1);
    }
  });
}

/// One consumer warpgroup: 64 weight rows of each of the CTA's tiles.
struct Consumer {
  using Accumulator = float[kTileN / 2];

  const Work& work;
  const Decoder& decoder;
  RingPosition<kStages> at;  // of the window that is read next

  __device__ __forceinline__ Consumer(const Work& w, const Decoder& d) : work(w), decoder(d) {}

  /// Among the consumers.
  static __device__ __forceinline__ int index() {
    return static_cast<int>(thread_anew() / 128) - 1;
  }

  __device__ __forceinline__ int row_of(const HopperTile& tile) const {
    return work.wide_tile(tile, index()) * 64;
  }

  /// acc = weight rows times codes of activations; `row_scales` of the weight, where a row has one.
  __device__ __forceinline__ void run(Accumulator& acc, float (&row_scales)[2]) {
#pragma unroll
    for (int i = 0; i < kTileN / 2; ++i) acc[i] = 0.0F;
    row_scales[0] = row_scales[1] = 1.0F;
    if (work.steps == 0) return;
    Window even;
    if constexpr (kOverlap) {
      run_overlapped(even, acc);
    } else {
      run_in_turn(even, acc);
    }
    if constexpr (kGroup == 0) {  // as all windows have them
      row_scales[0] = even.scale[0][0];
      row_scales[1] = even.scale[0][1];
    }
  }

 private:
  float sum[kSums][kPart / 2];

  /// A window is decoded while the one before is multiplied. Units that are under way when one
  /// begins belong to the other.
  __device__ __forceinline__ void run_overlapped(Window& even, Accumulator& acc) {
    Window odd;
    wait();
    read(even, 0);
    // Before the first window, nothing is under way: nothing is added.
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
#pragma unroll
      for (int e = 0; e < kPart / 2; ++e) sum[i][e] = 0.0F;
    }
#pragma unroll
    for (int i = 0; i < Decoder::kGroups; ++i) odd.scale[i][0] = odd.scale[i][1] = 0.0F;
#pragma unroll 1
    for (int step = 0; step < work.steps; step += 2) {
      const bool two = step + 1 < work.steps;
      multiply(even, odd, acc, step, two);
      if (two) multiply(odd, even, acc, step + 1, step + 2 < work.steps);
    }
    if (work.steps % 2 != 0) {
      drain(even, acc);
    } else {
      drain(odd, acc);
    }
    release(previous);
  }

  /// Of window number `step`; `other` is the one before, and becomes the one after.
  __device__ __forceinline__ void multiply(const Window& window, Window& other, Accumulator& acc,
                                           int step, bool more) {
    const int stage = at.stage;
    const unsigned long long from = activations(stage);
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      wgmma_wait<kSums - 1>();
      if (unit < kSums) {
        promote(other, unit + kUnits - kSums, acc);
      } else {
        promote(window, unit - kSums, acc);
      }
      issue(window, unit, from);
      if (unit == kSums - 1) {
        if (step > 0) release(previous);
        previous = stage;
        at.next();
        if (more) {
          wait();
          read(other, step + 1);
        }
      }
    }
  }

  int previous = 0;  // stage of the window before

  __device__ __forceinline__ void drain(const Window& window, Accumulator& acc) {
    if constexpr (kSums == 2) {
      wgmma_wait<1>();
      promote(window, kUnits - 2, acc);
    }
    wgmma_wait<0>();
    promote(window, kUnits - 1, acc);
  }

  /// With registers for one window; the other consumers multiply while it is decoded. Left to
  /// themselves they would decode at the same time, and then share the matrix unit.
  __device__ __forceinline__ void run_in_turn(Window& window, Accumulator& acc) {
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      wait();
      const bool is_short = work.is_short(step);
      int group = -1;
      if constexpr (Decoder::kFolds) {
        Held held;
        load(held);
        if (any_in_warpgroup(1 + index(), Decoder::too_wide(held, is_short))) group = 0;
      }
      // Once; or (kFolds) for each group alone.
      bool last;
#pragma unroll 1
      do {
        Held held;
        load(held);
        decoder.decode(window, held, is_short, group);
        if (kTurns && group <= 0) named_barrier(kTurn + index(), 256);
        last = group < 0 || group == 3;
        multiply_alone(window, acc, last);
        ++group;
      } while (Decoder::kFolds && !last);
      release(at.stage);
      at.next();
    }
  }

  /// Of the window at `at`, from the first to the last of its products; `last` before the next
  /// consumer's turn.
  __device__ __forceinline__ void multiply_alone(const Window& window, Accumulator& acc,
                                                 bool last) {
    const unsigned long long from = activations(at.stage);
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      if (unit >= kSums) {
        wgmma_wait<kSums - 1>();
        promote(window, unit - kSums, acc);
      }
      issue(window, unit, from);
    }
    if (kTurns && last) named_barrier_arrive(kTurn + (index() + 1) % kConsumers, 256);
    drain(window, acc);
  }

  __device__ __forceinline__ void wait() const {
    barrier_wait(work.full + at.stage * sizeof(Barrier), at.parity);
  }

  __device__ __forceinline__ void release(int stage) const {
    const unsigned thread = threadIdx.x % 128;
    if constexpr (kCluster == 1) {
      if (thread == 0) barrier_arrive(work.empty + stage * sizeof(Barrier));
    } else if (thread < kCluster) {
      barrier_arrive_remote(&work.shared.empty[stage], thread);  // all that send to us
    }
  }

  using Held = Decoder::Held;

  /// Of the stage at `at`.
  __device__ __forceinline__ void load(Held& held) const {
    const unsigned weights = work.weights(at.stage);
    const int own = index();
    decoder.load(held, weights + own * Stage::kCodeSpan,
                 weights + Stage::kScalesAt + own * Stage::kScaleSpan,
                 weights + Stage::kZerosAt + own * Stage::kZeroSpan);
  }

  /// Window number `step`, of that stage.
  __device__ __forceinline__ void read(Window& window, int step) const {
    Held held;
    load(held);
    decoder.decode(window, held, work.is_short(step), -1);
  }

  /// Descriptor of a stage's activations.
  __device__ __forceinline__ unsigned long long activations(int stage) const {
    return wgmma_descriptor(wgmma_layout(16, 1024), work.activations(uniform(stage)));
  }

  /// Begins the products of a unit.
  __device__ __forceinline__ void issue(const Window& window, int unit, unsigned long long from) {
    const unsigned long long x = from + unit % kParts * (kPart * 128 / 16);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kStepsOfUnit; ++i) {
      const int step = unit / kParts * kStepsOfUnit + i;
      Product::registers(sum[unit % kSums], window.a[step], x + 2 * step, i > 0 ? 1 : 0);
    }
    wgmma_commit();
  }

  /// Adds what a unit that was waited for has given.
  __device__ __forceinline__ void promote(const Window& window, int unit, Accumulator& acc) {
    float(&own)[kPart / 2] = sum[unit % kSums];
    wgmma_pin(own);
#pragma unroll
    for (int e = 0; e < kPart / 2; ++e) {
      float& to = acc[unit % kParts * (kPart / 2) + e];
      to = kGroup == 0 ? to + own[e] : fmaf(window.scale[unit / kParts][e % 4 / 2], own[e], to);
    }
  }
};

/// The scales of weight rows and of activations: `scales` has one for each column of D^T.
__device__ __forceinline__ void apply_scales(float (&acc)[kTileN / 2], const float (&row_scales)[2],
                                             const float* scales) {
#pragma unroll
  for (int j = 0; j < kTileN / 8; ++j) {
    const float2 own = *reinterpret_cast<const float2*>(scales + 8 * j + threadIdx.x % 4 * 2);
#pragma unroll
    for (int e = 0; e < 4; ++e) acc[4 * j + e] *= row_scales[e / 2] * (e % 2 == 0 ? own.x : own.y);
  }
}

__device__ __forceinline__ void run_consumer(const Work& work, Consumer& consumer,
                                             const TensorMap* d_map, const float* scales) {
  const HopperParams& p = work.p.hopper;
  const float unit = kGlobalScale ? *work.p.weight.global_scale : 1.0F;
  const int index = Consumer::index();
  GemmEpilogue epilogue{p.gemm, d_map, work.memory + kBuffersAt + index * kBufferBytes, 1 + index};
  if (kTurns && index + 1 == kConsumers) named_barrier_arrive(kTurn, 256);  // the first is
  Segments<false> segments = work.segments();
  for (Segment s; segments.next(s);) {
    const HopperTile tile = hopper_tile_at(s.tile, work.cluster, p);
    float acc[kTileN / 2];
    float row_scales[2];
    consumer.run(acc, row_scales);
    row_scales[0] *= unit;
    row_scales[1] *= unit;
    apply_scales(acc, row_scales, scales + tile.n * kTileN);
    epilogue.template store<kTileN>(acc, consumer.row_of(tile), tile.n * kTileN, 0);
  }
  epilogue.finish_stores();
}

/// By one thread.
__device__ __forceinline__ void init_barriers(const Work& work) {
#pragma unroll
  for (int i = 0; i < kStages; ++i) {
    barrier_init(&work.shared.full[i], 3);  // activations, codes, scales
    barrier_init(&work.shared.empty[i], kConsumers * kCluster);
  }
  fence_barrier_init();
}

__device__ __forceinline__ Work begin(const LowbitWideParams& p, char* memory) {
  auto& shared = *reinterpret_cast<Shared*>(memory + kSharedAt);
  return {memory,
          kept_address(memory),
          shared,
          kept_address(shared.full),
          kept_address(shared.empty),
          p,
          kCluster > 1 ? static_cast<int>(cluster_rank()) : 0,
          static_cast<int>(blockIdx.x) / kCluster,
          (p.weight.blocks + 1) / 2};
}

}  // namespace gemwright_device

extern "C" __global__ void __launch_bounds__(gemwright_device::kThreads, 1)
    gemm_lowbit_a8(const __grid_constant__ gemwright_device::TensorMap activations,
                   const __grid_constant__ gemwright_device::TensorMap d_map,
                   const __grid_constant__ gemwright_device::LowbitWideParams p,
                   const float* scales) {
  using namespace gemwright_device;
  extern __shared__ __align__(1024) char memory[];
  const Work work = begin(p, memory);
  const int warp = uniform(threadIdx.x / 32);
  if (warp == 0 && elect_one()) {
    prefetch_map(&activations);
    init_barriers(work);
  }
  if constexpr (kCluster > 1) {
    cluster_arrive();
    cluster_wait();
  } else {
    __syncthreads();
  }

  // The kernel before this one writes the activations, and has itself waited for all that came
  // before: the weight may be read at once.
  if (warp < 4) {
    register_decrease<kProducerRegisters>();
    if (warp == 0 && elect_one()) {
      wait_for_previous_kernel();
      launch_next_kernel();
      produce_activations(work, &activations);
    }
    if (warp == 1 && elect_one()) produce_weights<kStages, Stage, true>(work);
    if (warp == 2 && elect_one()) produce_weights<kStages, Stage, false>(work);
    __syncwarp();
  } else {
    register_increase<kConsumerRegisters>();
    const Decoder decoder{shared_address(memory + kTablesAt)};
    if constexpr (Decoder::Bytes::kInMemory) {
      constexpr int kAll = 128 * kConsumers;
      Decoder::Bytes::fill<kAll>(decoder.tables, threadIdx.x - 128);
      named_barrier(15, kAll);
    }
    wait_for_previous_kernel();
    Consumer consumer(work, decoder);
    run_consumer(work, consumer, &d_map, scales);
  }
  if constexpr (kCluster > 1) {  // the others may still send to us, or tell us that a stage is free
    cluster_arrive();
    cluster_wait();
  }
}
