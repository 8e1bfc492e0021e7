// Warp-specialised GEMM for sm_90a: a producer thread (or two producer warpgroups, where bulk
// copies cannot take an operand), one to three consumer warpgroups; persistent over tiles, or one
// tile a cluster with K split across it.
//
// The preamble defines: kInput (type of A and B; kF32 multiplies as tf32), kTypeD, kStore, kHasC,
// kTypeC, kBias, kTypeBias, kScales (alpha is not 1), kFactors; kTileM, kTileN, kStages,
// kConsumers, kPingPong, kWarps (mma.sync, not wgmma), kBuffers; kClusterM, kClusterN, kSplit,
// kStreamK; kLoadA, kLoadB (kBulk, or how threads load: see tile_loader.cuh); kAMajorM, kBMajorN
// (in shared memory).
#include "epilogue_wgmma.cuh"
#include "hopper_schedule.cuh"
#include "mainloop_mma_ring.cuh"
#include "split_exchange.cuh"
#include "thread_producer.cuh"

namespace gemwright_device {

template <int kType>
struct InstructionOf {
  using Type = WgmmaTf32;
};
template <>
struct InstructionOf<kF16> {
  using Type = WgmmaF16;
};
template <>
struct InstructionOf<kBf16> {
  using Type = WgmmaBf16;
};

constexpr int kInputBytes = kInput == kF32 ? 4 : 2;
using GemmRing = Ring<InstructionOf<kInput>::Type, kInputBytes, kTileM, kTileN, kStages, kClusterM,
                      kClusterN, kAMajorM, kBMajorN>;
using GemmEpilogue =
    WarpgroupEpilogue<kStore, kBuffers, kTypeD, kHasC, kTypeC, kBias, kTypeBias, kScales, kFactors>;

constexpr bool kThreadsLoad = kLoadA != kBulk || kLoadB != kBulk;
constexpr int kProducers = kThreadsLoad ? kProducerGroups : 1;  // warpgroups
constexpr int kThreads = 128 * (kProducers + kConsumers);
constexpr int kClusterSize = kClusterM * kClusterN * kSplit;
constexpr bool kMulticast = kClusterM * kClusterN > 1;
// Of a tile, consumers of wgmma share the rows, those of mma.sync the columns.
constexpr int kSharers = kPingPong ? 1 : kConsumers;
constexpr int kRowsEach = kWarps ? kTileM : kTileM / kSharers;
constexpr int kColumnsEach = kWarps ? kMmaColumns : kTileN;
constexpr int kBlocks = kRowsEach / 64;
constexpr int kColumnsStored = kColumnsEach / kSplit;  // by a CTA
constexpr int kChunkBytes = Chunk<kStore, kTypeD, kColumnsStored, kHasC>::kBufferBytes;
constexpr int kBufferBytes = kStore == kStoreDirect ? 0 : kBuffers * kChunkBytes;
// Ids of barriers: 1 + w is for the threads of consumer w; with ping-pong, kTurn + w opens the ring
// to consumer w.
constexpr int kTurn = 8;
static_assert(kRowsEach % 64 == 0 && kColumnsStored >= 16);
static_assert(kColumnsStored % (kSplit > 1 || kHasC ? 16 : 8) == 0, "chunks of 16 may overlap");
static_assert(!kWarps || (!kPingPong && kTileN == kConsumers * kMmaColumns),
              "a consumer of mma.sync has 64 columns");
static_assert(!kPingPong || kConsumers == 2, "consumers take turns");
static_assert(!kThreadsLoad || (kClusterM * kClusterN == 1 && kConsumers <= 2),
              "threads load for their own CTA");
static_assert(kSplit == 1 || !kStreamK, "K is split in one way");
static_assert(kSplit == 1 || !kPingPong, "parts of K are summed by CTAs of one tile");

using Exchange = SplitExchange<kConsumers, kBlocks, kColumnsEach, kSplit, kClusterM, kClusterN>;

constexpr int kExchangeBytes = kSplit > 1 ? Exchange::kBytes : 0;

struct Shared {
  Barrier full[kStages];
  Barrier empty[kStages];
  Barrier landed;  // of the exchange
  unsigned flags[kConsumers];
  int first;  // tile
};

/// Registers of the producer and the consumers: 65536 in all, multiples of 8.
constexpr int kProducerRegisters = kThreadsLoad ? 80 : 40;
constexpr int kConsumerRegisters = kThreadsLoad ? 176 : kConsumers == 3 ? 152 : 232;

/// What all roles know.
struct Work {
  GemmRing ring;
  ClusterPlace place;
  int first, last;  // k-blocks of a tile
  int cluster;
};

using GemmSegments = Segments<kStreamK>;

__device__ __forceinline__ int row_of(const HopperTile& tile, const ClusterPlace& place) {
  return (tile.m * kClusterM + place.m) * kTileM;
}
__device__ __forceinline__ int column_of(const HopperTile& tile, const ClusterPlace& place) {
  return (tile.n * kClusterN + place.n) * kTileN;
}

/// What a CTA works on first, for those who ask early.
struct First {
  Segment segment{};
  HopperTile tile{};
  bool any = false;
};

/// Worked out before the CTA meets: cold, that takes as long as the barriers do. Nobody reads what
/// is written to `place`, but what is stored cannot be put off until later.
__device__ __forceinline__ First find_first(GemmSegments& segments, int cluster,
                                            const HopperParams& p, int* place) {
  First first;
  first.any = segments.next(first.segment);
  first.tile = hopper_tile_at(first.segment.tile, cluster, p);
  store_shared(shared_address(place), first.tile.m ^ first.tile.n ^ first.tile.batch);
  return first;
}

/// By one thread.
__device__ __forceinline__ void run_producer(const Work& work, const TensorMap* a_map,
                                             const TensorMap* b_map, const HopperParams& p,
                                             GemmSegments segments, First at_first) {
  RingPosition<kStages> at;
  auto [s, tile, more] = at_first;
  while (more) {
    const BulkOperand a{a_map, p.a_policy, row_of(tile, work.place), tile.batch * p.a_batches,
                        p.a_rows};
    const BulkOperand b{b_map, p.b_policy, column_of(tile, work.place), tile.batch * p.b_batches,
                        p.b_rows};
    produce(work.ring, at, a, b, work.place, s.first, s.last, p.stage_bytes);
    more = segments.next(s);
    tile = hopper_tile_at(s.tile, work.cluster, p);
  }
}

/// As run_producer, by all threads of the producer warpgroups.
__device__ __forceinline__ void run_producer_threads(const Work& work, const TensorMap* a_map,
                                                     const TensorMap* b_map,
                                                     const HopperParams& p) {
  RingPosition<kStages> at;
  GemmSegments segments(p, work.cluster, work.first, work.last);
  const GemmParams& g = p.gemm;
  for (Segment s; segments.next(s);) {
    const HopperTile tile = hopper_tile_at(s.tile, work.cluster, p);
    const ThreadOperand a{{g.a, g.a_row, g.a_col, g.m, g.k}, a_map,      p.a_policy, g.a_batch,
                          row_of(tile, work.place),          tile.batch, p.a_rows};
    const ThreadOperand b{{g.b, g.b_col, g.b_row, g.n, g.k}, b_map,      p.b_policy, g.b_batch,
                          column_of(tile, work.place),       tile.batch, p.b_rows};
    produce_by_threads<kInput, kLoadA, kLoadB>(work.ring, at, a, b, s.first, s.last, p.stage_bytes);
  }
}

/// A consumer's product of one tile, from `row` of it on where it has not all of them.
template <bool kByWarps, typename Acc>
__device__ __forceinline__ void consume_tile(const Work& work, RingPosition<kStages>& at,
                                             int consumer, int row, int count, Acc& acc) {
  if constexpr (kByWarps) {
    consume_by_warps<GemmRing, kInput>(work.ring, at, work.place, consumer, count, acc);
  } else {
    consume<GemmRing, kBlocks>(work.ring, at, work.place, row, count, acc, [&] {
      if constexpr (kPingPong) named_barrier_arrive(kTurn + (consumer ^ 1), 256);
    });
  }
}

/// A consumer's part of D, 64 rows at a time: from one copy of the code where that is long.
template <int kWidth>
__device__ __forceinline__ void store_blocks(GemmEpilogue& epilogue,
                                             float (&acc)[kBlocks][kWidth / 2], int row, int column,
                                             int batch) {
  constexpr int kCopies = GemmEpilogue::kLong ? 1 : kBlocks;
#pragma unroll kCopies
  for (int i = 0; i < kBlocks; ++i) {
    epilogue.template store<kWidth>(acc[0], row + 64 * i, column, batch);
#pragma unroll
    for (int j = 1; j < kBlocks; ++j) {
#pragma unroll
      for (int e = 0; e < kWidth / 2; ++e) acc[j - 1][e] = acc[j][e];
    }
  }
}

__device__ __forceinline__ void run_consumer(const Work& work, int consumer, const TensorMap* d_map,
                                             char* buffers, char* exchanged, Shared& shared,
                                             const HopperParams& p) {
  const int part = kPingPong ? 0 : consumer;
  const int row = kWarps ? 0 : part * kRowsEach;
  const int column = kWarps ? part * kColumnsEach : 0;
  RingPosition<kStages> at;
  GemmEpilogue epilogue{p.gemm, d_map, buffers + consumer * kBufferBytes, 1 + consumer};
  GemmSegments segments(p, work.cluster, work.first, work.last);
  int turn = 0;
  if (kPingPong && consumer == 1) named_barrier_arrive(kTurn, 256);
  for (Segment s; segments.next(s);) {
    if constexpr (kPingPong) {
      if (turn++ % kConsumers != consumer) {
        at.skip(s.last - s.first);
        continue;
      }
    }
    const HopperTile tile = hopper_tile_at(s.tile, work.cluster, p);
    const int m = row_of(tile, work.place) + row;
    const int n = column_of(tile, work.place) + column;
    float acc[kBlocks][kColumnsEach / 2];
    // A ring position's parity repeats every two rounds, so a consumer may not look at the ring
    // before the one whose tile comes first has seen all of its own stages.
    if constexpr (kPingPong) named_barrier(kTurn + consumer, 256);
    consume_tile<kWarps>(work, at, consumer, row, s.last - s.first, acc);
    if constexpr (kStreamK) {
      constexpr int kParts = kClusterM * kClusterN * kSharers;
      const int index = (work.place.m + work.place.n * kClusterM) * kSharers + part;
      if (s.last - s.first != work.last &&
          !combine<kParts>(p, s, work.cluster, work.last, index, 1 + consumer,
                           &shared.flags[consumer], acc)) {
        continue;
      }
    }
    if constexpr (kSplit > 1) {
      float sum[kBlocks][kColumnsStored / 2];
      const Exchange exchange{exchanged, &shared.landed};
      exchange.run(acc, consumer, work.place, sum);
      store_blocks<kColumnsStored>(epilogue, sum, m, n + work.place.split * kColumnsStored,
                                   tile.batch);
    } else {
      store_blocks<kColumnsEach>(epilogue, acc, m, n, tile.batch);
    }
  }
  epilogue.finish_stores();
}

__device__ __forceinline__ Work begin(const HopperParams& p, char* data, Shared& shared) {
  const unsigned rank = kClusterSize > 1 ? cluster_rank() : 0;
  const int split = static_cast<int>(rank) / (kClusterM * kClusterN);
  const int blocks = (p.gemm.k + GemmRing::kTileK - 1) / GemmRing::kTileK;
  Work work;
  work.ring = {data, shared.full, shared.empty};
  work.place = {static_cast<int>(rank % kClusterM), static_cast<int>(rank / kClusterM % kClusterN),
                split, split * kClusterM * kClusterN};
  work.first = static_cast<int>(static_cast<long long>(blocks) * split / kSplit);
  work.last = static_cast<int>(static_cast<long long>(blocks) * (split + 1) / kSplit);
  work.cluster = blockIdx.x / kClusterSize;
  return work;
}

/// By one thread: a lane each would be a loop over the lanes, with a fence in every round.
__device__ __forceinline__ void init_barriers(Shared& shared) {
  // Warps let go of a stage each for itself, or together.
  constexpr int kReaders = kSharers * (kClusterM + kClusterN - 1) * (kWarps ? 4 : 1);
#pragma unroll
  for (int i = 0; i < kStages; ++i) {
    barrier_init(&shared.full[i], kThreadsLoad ? kThreadArrivals<kLoadA, kLoadB> : 1);
    barrier_init(&shared.empty[i], kReaders);
  }
  if constexpr (kSplit > 1) Exchange{nullptr, &shared.landed}.init();
  fence_barrier_init();
}

}  // namespace gemwright_device

extern "C" __global__ void __launch_bounds__(gemwright_device::kThreads, 1)
    gemm_hopper(const __grid_constant__ gemwright_device::TensorMap a_map,
                const __grid_constant__ gemwright_device::TensorMap b_map,
                const __grid_constant__ gemwright_device::TensorMap d_map,
                const __grid_constant__ gemwright_device::HopperParams p) {
  using namespace gemwright_device;
  extern __shared__ __align__(1024) char memory[];
  char* buffers = memory + kStages * GemmRing::kStageBytes;
  char* exchanged = buffers + kConsumers * kBufferBytes;
  auto& shared = *reinterpret_cast<Shared*>(exchanged + kExchangeBytes);
  const int warp = uniform(threadIdx.x / 32);
  const int warpgroup = warp / 4;
  const bool copies = !kThreadsLoad && warp == 1;
  const Work work = begin(p, memory, shared);

  if (warp == 0 && elect_one()) init_barriers(shared);
  __syncwarp();
  if constexpr (kClusterSize > 1) cluster_arrive_relaxed();
  if (warp == 2 && elect_one()) {
    if (kLoadA == kBulk) prefetch_map(&a_map);
    if (kLoadB == kBulk) prefetch_map(&b_map);
    if (kStore != kStoreDirect) prefetch_map(&d_map);
  }
  __syncwarp();
  GemmSegments segments(p, work.cluster, work.first, work.last);
  First first;
  if (copies) first = find_first(segments, work.cluster, p, &shared.first);

  // Loads that stay in the CTA need not wait for the others of the cluster to be there.
  if constexpr (kMulticast) {
    cluster_wait();
  } else {
    __syncthreads();
  }
  wait_for_previous_kernel();
  launch_next_kernel();

  if (warpgroup < kProducers) {
    if constexpr (kConsumers > 1) register_decrease<kProducerRegisters>();
    if constexpr (kThreadsLoad) {
      run_producer_threads(work, &a_map, &b_map, p);
    } else if (copies && elect_one()) {
      run_producer(work, &a_map, &b_map, p, segments, first);
    }
    __syncwarp();
    if constexpr (kSplit > 1 && !kMulticast) cluster_wait();
  } else {
    if constexpr (kConsumers > 1) register_increase<kConsumerRegisters>();
    run_consumer(work, warpgroup - kProducers, &d_map, buffers, exchanged, shared, p);
  }
  if constexpr (kMulticast) {  // others may still arrive at our barriers
    cluster_arrive_relaxed();
    cluster_wait();
  }
}
