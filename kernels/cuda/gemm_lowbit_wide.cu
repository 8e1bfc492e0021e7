// Warp-specialised GEMM for sm_90a with a packed low-bit weight, any number of rows of activations.
// It sees D^T = W * A^T: its m is N, its n is M. Producer threads fill a ring of activations, codes
// and scales by bulk copies; consumer warpgroups turn codes into the register operand of wgmma.
// Persistent over tiles, or one tile a cluster with K split across it.
//
// The preamble defines: kType (of activations: fp16 or bf16), kBits, kCodes, kScaleType, kGroup
// (columns that share a scale; 0: all), kZeros, kGlobalScale, kScaling; kTypeD, kStore, kHasC,
// kTypeC, kBias, kTypeBias; kTileN, kStages, kConsumers (of 64 weight rows each), kBuffers; kSplit,
// kStreamK; kOverlap (a consumer decodes while it multiplies).
#include "epilogue_wgmma.cuh"
#include "hopper_schedule.cuh"
#include "mainloop_lowbit_wgmma.cuh"
#include "part_sums.cuh"

namespace gemwright_device {

template <int kInput>
struct InstructionOf {
  using Type = WgmmaBf16;
};
template <>
struct InstructionOf<kF16> {
  using Type = WgmmaF16;
};

using Decoder = WeightDecoder<kType, kBits, kCodes, kScaleType, kGroup, kZeros, kScaling>;
using Places = Decoder::Places;
using Product = Wgmma<InstructionOf<kType>::Type, WgmmaTail<true, false, false>, kTileN / 2>;
using GemmEpilogue = WarpgroupEpilogue<kStore, kBuffers, kTypeD, kHasC, kTypeC, kBias, kTypeBias>;
using GemmSegments = Segments<kStreamK>;
using Parts = PartSums<kConsumers, kTileN, kSplit>;

/// Blocks of 64 columns in a stage (a step of K), and sets of scales that they have.
constexpr int kDepth = 2;
constexpr int kSets = kGroup == 0 || kGroup > 64 ? 1 : kDepth;
/// The ring: stages of activations, then stages of codes, scales and zero points of each consumer.
constexpr int kActivationBytes = kDepth * kTileN * 128;
constexpr int kCodeSpan = kDepth * Decoder::kCodeSpan;
constexpr int kScaleSpan = kSets * Decoder::kScaleSpan;
constexpr int kZeroSpan = kSets * Decoder::kZeroSpan;
constexpr int kScalesAt = kConsumers * kCodeSpan;
constexpr int kZerosAt = kScalesAt + kConsumers * kScaleSpan;
constexpr int kWeightBytes = kZerosAt + kConsumers * kZeroSpan;
constexpr int kRingBytes = kStages * (kActivationBytes + kWeightBytes);

constexpr int kThreads = 128 * (1 + kConsumers);
template <int kWidth, bool kUsed>
struct BufferBytes {
  static constexpr int kValue = 0;
};
template <int kWidth>
struct BufferBytes<kWidth, true> {
  static constexpr int kValue = kBuffers * Chunk<kStore, kTypeD, kWidth, kHasC>::kBufferBytes;
};
constexpr int kBufferBytes = BufferBytes<kTileN, kStore != kStoreDirect>::kValue;
constexpr int kPartBytes = kSplit > 1 ? Parts::kBytes : 0;
/// The table is aligned to its rows' 256 bytes, what is copied out to 1024.
constexpr int kTableAt = (kRingBytes + 1023) / 1024 * 1024;
constexpr int kBuffersAt = kTableAt + Decoder::Codes::kTableBytes;
/// 65536 registers, of which a thread has at launch what 8 divides, are shared out again.
constexpr int kAtLaunch = 65536 / kThreads / 8 * 8;
constexpr int kProducerRegisters = kConsumers > 2 ? 32 : 40;
constexpr int kConsumerRegisters =
    (kAtLaunch + (kAtLaunch - kProducerRegisters) / kConsumers) / 8 * 8;
static_assert(kSplit == 1 || (!kStreamK && kStore == kStoreDirect));

struct Shared {
  Barrier full[kStages];
  Barrier empty[kStages];
  Barrier landed;  // parts of a split K
  unsigned flags[kConsumers];
};

/// What all roles know.
struct Work {
  char* memory;
  unsigned ring;  // its address: finding it out anew takes three instructions
  Shared& shared;
  unsigned full, empty;  // addresses of barriers
  const LowbitWideParams& p;
  int rank;  // in the cluster: part of K
  int cluster;
  int first, last;  // steps of K of a tile

  __device__ __forceinline__ unsigned activations(int stage) const {
    return ring + stage * kActivationBytes;
  }
  __device__ __forceinline__ unsigned weights(int stage) const {
    return ring + kStages * kActivationBytes + stage * kWeightBytes;
  }
  __device__ __forceinline__ GemmSegments segments() const {
    return {p.hopper, cluster, first, last};
  }
  /// Blocks that a step has: the last may be short.
  __device__ __forceinline__ int depth(int step) const {
    return min(kDepth, p.weight.blocks - step * kDepth);
  }
};

/// Calls f(tile, step, stage) for all steps of K of a CTA, once the stage is free.
template <typename F>
__device__ __forceinline__ void each_step(const Work& work, F f) {
  RingPosition<kStages> at;
  GemmSegments segments = work.segments();
  for (Segment s; segments.next(s);) {
    const HopperTile tile = hopper_tile_at(s.tile, work.cluster, work.p.hopper);
#pragma unroll 1
    for (int step = s.first; step < s.last; ++step) {
      barrier_wait(&work.shared.empty[at.stage], at.parity ^ 1);
      f(tile, step, at.stage);
      at.next();
    }
  }
}

/// One thread. What lies past K is filled with zeros.
__device__ __forceinline__ void produce_activations(const Work& work, const TensorMap* map) {
  each_step(work, [&](const HopperTile& tile, int step, int stage) {
    Barrier* full = &work.shared.full[stage];
    barrier_arrive_expect(full, kActivationBytes);
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      copy_in(work.memory + stage * kActivationBytes + i * kTileN * 128, map, full,
              (step * kDepth + i) * 64, tile.n * kTileN, 0, work.p.hopper.b_policy);
    }
  });
}

/// One thread: codes of all consumers' tiles, or (not kOfCodes) scales and zero points.
template <bool kOfCodes>
__device__ __forceinline__ void produce_weights(const Work& work) {
  const LowbitWeight& weight = work.p.weight;
  each_step(work, [&](const HopperTile& tile, int step, int stage) {
    Barrier* full = &work.shared.full[stage];
    const unsigned to = work.weights(stage);
    const int depth = work.depth(step);
    const int sets = kSets == 1 ? 1 : depth;
    const int each =
        kOfCodes ? depth * Decoder::kCodeSpan : sets * (Decoder::kScaleSpan + Decoder::kZeroSpan);
    barrier_arrive_expect(full, static_cast<unsigned>(kConsumers * each));
#pragma unroll 1  // registers are few
    for (int i = 0; i < kConsumers; ++i) {
      // Past the last tile of 64 rows there is nothing to read; what is read instead is not stored.
      const long long wide = min(tile.m * kConsumers + i, work.p.wide_tiles - 1);
      // `count` pieces from number `index` on.
      const auto copy = [&](unsigned address, const void* from, long long index, int bytes,
                            int count) {
        copy_line(address, static_cast<const char*>(from) + index * bytes, count * bytes, full,
                  work.p.hopper.a_policy);
      };
      if constexpr (kOfCodes) {
        copy(to + i * kCodeSpan, weight.codes, wide * weight.blocks + step * kDepth,
             Decoder::kCodeSpan, depth);
      } else {
        const long long index = wide * weight.sets + Places::set_of(step * kDepth);
        copy(to + kScalesAt + i * kScaleSpan, weight.scales, index, Decoder::kScaleSpan, sets);
        if constexpr (kZeroSpan > 0) {
          copy(to + kZerosAt + i * kZeroSpan, weight.zeros, index, Decoder::kZeroSpan, sets);
        }
      }
    }
  });
}

/// One consumer warpgroup: 64 weight rows of each of the CTA's tiles.
struct Consumer {
  using Accumulator = float[kTileN / 2];
  using Block = Decoder::Block;

  const Work& work;
  const Decoder& decoder;
  int index;
  RingPosition<kStages> at;     // of the step that is read next
  const float* tables[2] = {};  // of the rows, where each has its own

  __device__ __forceinline__ Consumer(const Work& w, const Decoder& d, int i)
      : work(w), decoder(d), index(i) {}

  __device__ __forceinline__ int row_of(const HopperTile& tile) const {
    return (tile.m * kConsumers + index) * 64;
  }

  __device__ __forceinline__ void find_tables(const HopperTile& tile) {
    if constexpr (!Decoder::Codes::kByRow) return;
    const int wide = min(tile.m * kConsumers + index, work.p.wide_tiles - 1);
    const int thread = threadIdx.x % 128;
    const int row = wide * 64 + thread / 32 * 16 + thread % 32 / 4;
    tables[0] = work.p.weight.table + (static_cast<long long>(row) << kBits);
    tables[1] = tables[0] + (8LL << kBits);
  }

  /// acc = weight rows times activations over steps [first, last). Where groups are scaled, the
  /// part of one that is here is scaled all the same.
  __device__ __forceinline__ void run(int first, int last, Accumulator& acc) {
#pragma unroll
    for (int i = 0; i < kTileN / 2; ++i) acc[i] = 0.0F;
    if (first == last) return;
    if constexpr (kOverlap) {
      run_overlapped(first, last, acc);
    } else {
      run_in_turn(first, last, acc);
    }
  }

 private:
  Accumulator sum;   // of a group, where sums are scaled
  int previous = 0;  // stage whose products are under way, where they are not waited for at once

  /// A block is decoded while the one before is multiplied.
  __device__ __forceinline__ void run_overlapped(int first, int last, Accumulator& acc) {
    Block even, odd;
    wait();
    read(even, 0);
    wgmma_pin(acc);
#pragma unroll 1
    for (int step = first; step < last; ++step) {
      const bool more = step + 1 < last;
      const bool both = more || work.depth(step) == kDepth;
      const int stage = at.stage;
      // Reads what comes next while a block is multiplied.
      multiply(even, acc, work.activations(stage), step * kDepth, step == first, !both, [&] {
        if constexpr (kScaling != kScaleSums) {
          if (step > first) release(previous);
        }
        if (both) read(odd, 1);
      });
      at.next();
      if (both) {
        multiply(odd, acc, work.activations(stage) + kTileN * 128, step * kDepth + 1, false, !more,
                 [&] {
                   if (!more) return;
                   wait();
                   read(even, 0);
                 });
      }
      if constexpr (kScaling == kScaleSums) release(stage);
      previous = stage;
    }
    if constexpr (kScaling != kScaleSums) {
      wgmma_wait<0>();
      wgmma_pin(acc);
      release(previous);
    }
    if constexpr (kScaling == kScaleRows) scale_rows(even, acc);  // as all blocks have it
  }

  /// With the registers of one block; meanwhile the other consumers multiply.
  __device__ __forceinline__ void run_in_turn(int first, int last, Accumulator& acc) {
    Block block;
    wgmma_pin(acc);
#pragma unroll 1
    for (int step = first; step < last; ++step) {
      const int depth = work.depth(step);
      wait();
#pragma unroll 1
      for (int i = 0; i < depth; ++i) {
        read(block, i);
        multiply(block, acc, work.activations(at.stage) + i * (kTileN * 128), step * kDepth + i,
                 step == first && i == 0, step + 1 == last && i + 1 == depth, [] {});
        if constexpr (kScaling != kScaleSums) {
          wgmma_wait<0>();
          wgmma_pin(acc);
        }
      }
      release(at.stage);
      at.next();
    }
    if constexpr (kScaling == kScaleRows) scale_rows(block, acc);
  }

  __device__ __forceinline__ void wait() const {
    barrier_wait(work.full + at.stage * sizeof(Barrier), at.parity);
  }

  __device__ __forceinline__ void release(int stage) const {
    if (threadIdx.x % 128 == 0) barrier_arrive(work.empty + stage * sizeof(Barrier));
  }

  /// Block `number` of the step at `at`.
  __device__ __forceinline__ void read(Block& block, int number) const {
    const unsigned weights = work.weights(at.stage);
    const int set = kSets == 1 ? 0 : number;
    decoder.read(block, weights + index * kCodeSpan + number * Decoder::kCodeSpan,
                 weights + kScalesAt + index * kScaleSpan + set * Decoder::kScaleSpan,
                 weights + kZerosAt + index * kZeroSpan + set * Decoder::kZeroSpan, tables);
  }

  /// acc += a block times the activations at `from`; read_next() is called while it is multiplied,
  /// when the registers of the block before are free.
  template <typename ReadNext>
  __device__ __forceinline__ void multiply(const Block& block, Accumulator& acc, unsigned from,
                                           int number, bool is_first, bool is_last,
                                           ReadNext read_next) {
    const unsigned long long x = wgmma_descriptor(wgmma_layout(16, 1024), from);
    if constexpr (kScaling == kScaleSums) {
      const bool begins = Places::kTogether > 1 || is_first || number % Places::kBlocks == 0;
      const bool ends = Places::kTogether > 1 || is_last || (number + 1) % Places::kBlocks == 0;
      // Several groups in a block: all but the last are waited for at once.
#pragma unroll
      for (int group = 0; group < Places::kTogether; ++group) {
        wgmma_fence();
#pragma unroll
        for (int j = 0; j < Places::kSteps; ++j) {
          const int step = group * Places::kSteps + j;
          Product::registers(sum, block.a[step], x + 2 * step, j > 0 || !begins ? 1 : 0);
        }
        wgmma_commit();
        if (group + 1 == Places::kTogether) read_next();
        wgmma_wait<0>();
        wgmma_pin(sum);
        if (ends) {
#pragma unroll
          for (int e = 0; e < kTileN / 2; ++e) {
            acc[e] = fmaf(block.scale[group][e % 4 / 2], sum[e], acc[e]);
          }
        }
      }
    } else {
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        Product::registers(acc, block.a[step], x + 2 * step, 1);
      }
      wgmma_commit();
      wgmma_wait<1>();
      read_next();
    }
  }

  static __device__ __forceinline__ void scale_rows(const Block& block, Accumulator& acc) {
#pragma unroll
    for (int e = 0; e < kTileN / 2; ++e) acc[e] *= block.scale[0][e % 4 / 2];
  }
};

__device__ __forceinline__ void run_consumer(const Work& work, Consumer& consumer,
                                             const TensorMap* d_map) {
  using Direct = GemmEpilogue::Direct;
  const HopperParams& p = work.p.hopper;
  char* const buffers = work.memory + kBuffersAt;
  const float unit = Decoder::Codes::kUnit * (kGlobalScale ? *work.p.weight.global_scale : 1.0F);
  GemmEpilogue epilogue{p.gemm, d_map, buffers + consumer.index * kBufferBytes, 1 + consumer.index};
  GemmSegments segments = work.segments();
  for (Segment s; segments.next(s);) {
    const HopperTile tile = hopper_tile_at(s.tile, work.cluster, p);
    float acc[1][kTileN / 2];
    consumer.find_tables(tile);
    consumer.run(s.first, s.last, acc[0]);
    if constexpr (kStreamK) {
      if (s.last - s.first != work.last &&
          !combine<kConsumers>(p, s, work.cluster, work.last, consumer.index, 1 + consumer.index,
                               &work.shared.flags[consumer.index], acc)) {
        continue;
      }
    }
#pragma unroll
    for (float& x : acc[0]) x *= unit;
    const int row = consumer.row_of(tile);
    if constexpr (kSplit > 1) {
      const Parts parts{buffers, &work.shared.landed, work.rank};
      cluster_wait();  // the others' barriers are initialised
      parts.run(acc[0], consumer.index, [&](int j, const float(&sum)[4]) {
        const int thread = threadIdx.x % 128;
        const int m = row + thread / 32 * 16 + thread % 32 / 4;
        const int n = tile.n * kTileN + 8 * j + thread % 4 * 2;
        Direct::template store<2>(p.gemm, 0, m, n, {sum[0], sum[1]});
        Direct::template store<2>(p.gemm, 0, m + 8, n, {sum[2], sum[3]});
      });
    } else {
      epilogue.template store<kTileN>(acc[0], row, tile.n * kTileN, 0);
    }
  }
  epilogue.finish_stores();
}

/// By one thread.
__device__ __forceinline__ void init_barriers(const Work& work) {
#pragma unroll
  for (int i = 0; i < kStages; ++i) {
    barrier_init(&work.shared.full[i], 3);  // activations, codes, scales
    barrier_init(&work.shared.empty[i], kConsumers);
  }
  if constexpr (kSplit > 1) Parts{nullptr, &work.shared.landed, work.rank}.init();
  fence_barrier_init();
}

__device__ __forceinline__ Work begin(const LowbitWideParams& p, char* memory) {
  const int rank = kSplit > 1 ? static_cast<int>(cluster_rank()) : 0;
  constexpr int kAfter =
      kPartBytes > kConsumers * kBufferBytes ? kPartBytes : kConsumers * kBufferBytes;
  const int steps = (p.weight.blocks + kDepth - 1) / kDepth;
  const auto part = [&](int i) {
    return static_cast<int>(static_cast<long long>(steps) * i / kSplit);
  };
  auto& shared = *reinterpret_cast<Shared*>(memory + kBuffersAt + kAfter);
  return {memory,
          static_cast<unsigned>(uniform(static_cast<int>(shared_address(memory)))),
          shared,
          static_cast<unsigned>(uniform(static_cast<int>(shared_address(shared.full)))),
          static_cast<unsigned>(uniform(static_cast<int>(shared_address(shared.empty)))),
          p,
          rank,
          static_cast<int>(blockIdx.x) / kSplit,
          part(rank),
          part(rank + 1)};
}

}  // namespace gemwright_device

extern "C" __global__ void __launch_bounds__(gemwright_device::kThreads, 1)
    gemm_lowbit_wide(const __grid_constant__ gemwright_device::TensorMap activations,
                     const __grid_constant__ gemwright_device::TensorMap d_map,
                     const __grid_constant__ gemwright_device::LowbitWideParams p) {
  using namespace gemwright_device;
  extern __shared__ __align__(1024) char memory[];
  const Work work = begin(p, memory);
  const int warp = uniform(threadIdx.x / 32);
  if (warp == 0 && elect_one()) {
    prefetch_map(&activations);
    init_barriers(work);
  }
  __syncthreads();
  if constexpr (kSplit > 1) cluster_arrive_relaxed();
  // Without `early` the weight may be what the kernel before has written.
  if (!p.early) wait_for_previous_kernel();

  if (warp < 4) {
    if constexpr (kConsumers > 1) register_decrease<kProducerRegisters>();
    if (warp == 0 && elect_one()) {
      wait_for_previous_kernel();
      launch_next_kernel();
      produce_activations(work, &activations);
    }
    if (warp == 1 && elect_one()) produce_weights<true>(work);
    if (warp == 2 && elect_one()) produce_weights<false>(work);
    __syncwarp();
    if constexpr (kSplit > 1) cluster_wait();
  } else {
    if constexpr (kConsumers > 1) register_increase<kConsumerRegisters>();
    const Decoder decoder{{{memory + kTableAt}}};
    if constexpr (Decoder::Codes::kLookedUp) {
      constexpr int kAll = 128 * kConsumers;
      decoder.codes.table.fill<kCodes, kAll>(p.weight.table, threadIdx.x - 128);
      named_barrier(15, kAll);
    }
    wait_for_previous_kernel();
    Consumer consumer(work, decoder, warp / 4 - 1);
    run_consumer(work, consumer, &d_map);
  }
}
