// Warp-specialised GEMM for sm_90a with a packed low-bit weight, any number of rows of activations.
// It sees D^T = W * A^T: its m is N, its n is M. Producer threads fill a ring of activations, codes
// and scales by bulk copies; consumer warpgroups turn codes into the register operand of wgmma.
// Persistent over tiles, or one tile a cluster with K split across it.
//
// The preamble defines: kType (of activations: fp16 or bf16), kBits, kCodes, kScaleType, kGroup
// (columns that share a scale; 0: all), kZeros, kGlobalScale, kScaling; kTypeD, kStore, kHasC,
// kTypeC, kBias, kTypeBias; kTileN, kStages, kConsumers (of 64 weight rows each), kBuffers; kSplit,
// kStreamK.
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

/// The ring: stages of activations, then stages of codes, scales and zero points of each consumer.
constexpr int kActivationBytes = kTileN * 128;
constexpr int kScalesAt = kConsumers * Decoder::kCodeSpan;
constexpr int kZerosAt = kScalesAt + kConsumers * Decoder::kScaleSpan;
constexpr int kWeightBytes = kZerosAt + kConsumers * Decoder::kZeroSpan;
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
  Shared& shared;
  const LowbitWideParams& p;
  int rank;  // in the cluster: part of K
  int cluster;
  int first, last;  // blocks of K of a tile

  __device__ __forceinline__ char* activations(int stage) const {
    return memory + stage * kActivationBytes;
  }
  __device__ __forceinline__ unsigned weights(int stage) const {
    return shared_address(memory) + kStages * kActivationBytes + stage * kWeightBytes;
  }
  __device__ __forceinline__ GemmSegments segments() const {
    return {p.hopper, cluster, first, last};
  }
};

/// Calls f(tile, block, stage) for all blocks of K of a CTA, once the stage is free.
template <typename F>
__device__ __forceinline__ void each_block(const Work& work, F f) {
  RingPosition<kStages> at;
  GemmSegments segments = work.segments();
  for (Segment s; segments.next(s);) {
    const HopperTile tile = hopper_tile_at(s.tile, work.cluster, work.p.hopper);
#pragma unroll 1
    for (int block = s.first; block < s.last; ++block) {
      barrier_wait(&work.shared.empty[at.stage], at.parity ^ 1);
      f(tile, block, at.stage);
      at.next();
    }
  }
}

/// One thread.
__device__ __forceinline__ void produce_activations(const Work& work, const TensorMap* map) {
  each_block(work, [&](const HopperTile& tile, int block, int stage) {
    Barrier* full = &work.shared.full[stage];
    barrier_arrive_expect(full, kActivationBytes);
    copy_in(work.activations(stage), map, full, block * 64, tile.n * kTileN, 0,
            work.p.hopper.b_policy);
  });
}

/// One thread: codes of all consumers' tiles, or (not kOfCodes) scales and zero points.
template <bool kOfCodes>
__device__ __forceinline__ void produce_weights(const Work& work) {
  const LowbitWeight& weight = work.p.weight;
  each_block(work, [&](const HopperTile& tile, int block, int stage) {
    Barrier* full = &work.shared.full[stage];
    const unsigned to = work.weights(stage);
    barrier_arrive_expect(full, kOfCodes ? kScalesAt : kWeightBytes - kScalesAt);
#pragma unroll
    for (int i = 0; i < kConsumers; ++i) {
      // Past the last tile of 64 rows there is nothing to read; what is read instead is not stored.
      const long long wide = min(tile.m * kConsumers + i, work.p.wide_tiles - 1);
      const auto copy = [&](unsigned address, const void* from, long long index, int bytes) {
        copy_line(address, static_cast<const char*>(from) + index * bytes, bytes, full,
                  work.p.hopper.a_policy);
      };
      if constexpr (kOfCodes) {
        copy(to + i * Decoder::kCodeSpan, weight.codes, wide * weight.blocks + block,
             Decoder::kCodeSpan);
      } else {
        const long long index = wide * weight.sets + Places::set_of(block);
        copy(to + kScalesAt + i * Decoder::kScaleSpan, weight.scales, index, Decoder::kScaleSpan);
        if constexpr (Decoder::kZeroSpan > 0) {
          copy(to + kZerosAt + i * Decoder::kZeroSpan, weight.zeros, index, Decoder::kZeroSpan);
        }
      }
    }
  });
}

/// One consumer warpgroup: 64 weight rows of each of the CTA's tiles.
struct Consumer {
  using Accumulator = float[kTileN / 2];

  const Work& work;
  const Decoder& decoder;
  int index;
  RingPosition<kStages> at;     // of the block that is read next
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

  /// acc = weight rows times activations over blocks [first, last). Where groups are scaled, the
  /// part of one that is here is scaled all the same.
  __device__ __forceinline__ void run(int first, int last, Accumulator& acc) {
#pragma unroll
    for (int i = 0; i < kTileN / 2; ++i) acc[i] = 0.0F;
    if (first == last) return;
    Decoder::Block even, odd;
    read(even);
    wgmma_pin(acc);
    int block = first;
#pragma unroll 1
    for (; block + 2 <= last; block += 2) {
      multiply(even, odd, acc, block, first, last);
      multiply(odd, even, acc, block + 1, first, last);
    }
    if (block < last) multiply(even, odd, acc, block, first, last);
    if constexpr (kScaling != kScaleSums) {
      wgmma_wait<0>();
      wgmma_pin(acc);
      release(previous);
    }
    if constexpr (kScaling == kScaleRows) scale_rows(even, acc);  // as all blocks have it
  }

 private:
  Accumulator sum;   // of a group, where sums are scaled
  int reading = 0;   // stage of the block that is read last
  int previous = 0;  // stage whose products are under way, where they are not waited for at once

  __device__ __forceinline__ void read(Decoder::Block& block) {
    barrier_wait(&work.shared.full[at.stage], at.parity);
    const unsigned weights = work.weights(at.stage);
    decoder.read(block, weights + index * Decoder::kCodeSpan,
                 weights + kScalesAt + index * Decoder::kScaleSpan,
                 weights + kZerosAt + index * Decoder::kZeroSpan, tables);
    reading = at.stage;
    at.next();
  }

  __device__ __forceinline__ void release(int stage) const {
    if (threadIdx.x % 128 == 0) barrier_arrive(&work.shared.empty[stage]);
  }

  /// Multiplies `now` while `next` is read.
  __device__ __forceinline__ void multiply(const Decoder::Block& now, Decoder::Block& next,
                                           Accumulator& acc, int block, int first, int last) {
    constexpr unsigned long long kLayout = wgmma_layout(16, 1024);
    const unsigned long long x =
        wgmma_descriptor(kLayout, shared_address(work.activations(reading)));
    const int stage = reading;
    const bool more = block + 1 < last;
    if constexpr (kScaling == kScaleSums) {
      const bool begins = Places::kTogether > 1 || block == first || block % Places::kBlocks == 0;
      // Several groups in a block: all but the last are waited for at once.
#pragma unroll
      for (int group = 0; group < Places::kTogether; ++group) {
        wgmma_fence();
#pragma unroll
        for (int j = 0; j < Places::kSteps; ++j) {
          const int step = group * Places::kSteps + j;
          Product::registers(sum, now.a[step], x + 2 * step, j > 0 || !begins ? 1 : 0);
        }
        wgmma_commit();
        if (group + 1 == Places::kTogether && more) read(next);
        wgmma_wait<0>();
        wgmma_pin(sum);
        if (Places::kTogether > 1 || !more || (block + 1) % Places::kBlocks == 0) {
#pragma unroll
          for (int e = 0; e < kTileN / 2; ++e) {
            acc[e] = fmaf(now.scale[group][e % 4 / 2], sum[e], acc[e]);
          }
        }
      }
      release(stage);
    } else {
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        Product::registers(acc, now.a[step], x + 2 * step, 1);
      }
      wgmma_commit();
      if (block > first) {
        wgmma_wait<1>();  // the registers of `next` are free
        release(previous);
      }
      previous = stage;
      if (more) read(next);
    }
  }

  static __device__ __forceinline__ void scale_rows(const Decoder::Block& block, Accumulator& acc) {
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
  const auto part = [&](int i) {
    return static_cast<int>(static_cast<long long>(p.weight.blocks) * i / kSplit);
  };
  return {memory,
          *reinterpret_cast<Shared*>(memory + kBuffersAt + kAfter),
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
