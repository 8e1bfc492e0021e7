// GEMM with few rows of A (up to 64) on sm_90a: one warp streams weights and another activations by
// bulk tensor copies through a deep ring of stages, warpgroups multiply them with the weights on
// the 64-row side of wgmma. Tiles have any number of weight rows, so that every CTA of the one wave
// that runs gets the same bytes. Both operands have K contiguous.
//
// The preamble gives: kType (of A and B; kF32 is computed as tf32), kConsumers (warpgroups, of 64
// weight rows each), kCols (rows of A, a multiple of 8), kBlocks (of 128 bytes of K, a stage),
// kSplit (CTAs of a cluster that share K), kCtas (resident a multiprocessor), and of the epilogue
// kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias.
#include "epilogue.cuh"
#include "ptx_hopper.cuh"
#include "ptx_wgmma.cuh"
#include "stream_params.cuh"

namespace gemwright_device {

template <int kInput>
struct StreamInstruction {
  using Type = WgmmaBf16;
  using Tail = WgmmaTail<true, false, false>;
};
template <>
struct StreamInstruction<kF16> {
  using Type = WgmmaF16;
  using Tail = WgmmaTail<true, false, false>;
};
template <>
struct StreamInstruction<kF32> {
  using Type = WgmmaTf32;
  using Tail = WgmmaTail<false, false, false>;
};

using Product = Wgmma<StreamInstruction<kType>::Type, StreamInstruction<kType>::Tail, kCols / 2>;
using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;

constexpr int kConsumerThreads = 128 * kConsumers;
constexpr int kThreads = kConsumerThreads + 64;  // the last two warps issue the copies
constexpr int kReady = 1;                        // the named barrier that follows init_barriers
constexpr int kMaxStages = 32;
constexpr int kBlockElements = 128 / sizeof(Element<kType>);  // of K
constexpr int kActivationBytes = kCols * 128;                 // a block
constexpr int kColBlocks = kCols / 8;                         // one float4 of accumulators a thread
/// Blocks of 8 columns are dealt to the CTAs of a cluster, which sum and store those.
constexpr int kOwnBlocks = (kColBlocks + kSplit - 1) / kSplit;

struct Shared {
  Barrier full[kMaxStages];
  Barrier empty[kMaxStages];
  Barrier ready;   // the empty ones are initialised
  Barrier landed;  // the other CTAs' partial sums are here
  float4 partial[kSplit > 1 ? kSplit - 1 : 1][kOwnBlocks][kSplit > 1 ? kConsumerThreads : 1];
};

/// Where a warp stands in the ring.
struct Position {
  int stage = 0;
  int round = 0;

  __device__ __forceinline__ void advance(int stages) {
    if (++stage == stages) stage = 0, ++round;
  }
};

struct Stream {
  const StreamParams& p;
  char* ring;
  Shared& shared;
  int rank;          // in the cluster: takes every kSplit-th stage of K
  int weight_bytes;  // a block: whole swizzle atoms of 8 rows
  int steps;         // stages that a tile takes of this CTA
  int first_tile;
  int tile_stride;
  int all_tiles;

  __device__ __forceinline__ char* block(int stage, int i) const {
    return ring + (stage * kBlocks + i) * (weight_bytes + kActivationBytes);
  }

  /// Calls copy(stage, k, row, batch) for every stage of the CTA's tiles, once it is empty: k is
  /// the stage's first element of K, row the tile's first of the weights.
  template <class Copy>
  __device__ __forceinline__ void produce(Copy copy) const {
    Position at;
    for (int tile = first_tile; tile < all_tiles; tile += tile_stride) {
      // Divisions take as long as several copies.
      const int batch = p.gemm.batch > 1 ? tile / p.tiles : 0;
      const int row = (tile - batch * p.tiles) * p.rows;
      int k = rank * kBlocks * kBlockElements;
      for (int step = 0; step < steps; ++step) {
        if (at.round > 0) {
          barrier_wait(&shared.ready, 0);
          barrier_wait(&shared.empty[at.stage], (at.round - 1) & 1);
        }
        copy(at.stage, k, row, batch);
        k += kSplit * kBlocks * kBlockElements;
        at.advance(p.stages);
      }
    }
  }
};

/// Copies the weights; one thread.
__device__ __forceinline__ void produce_weights(const Stream& stream, const TensorMap* map) {
  if (!stream.p.early) wait_for_previous_kernel();
  const auto bytes = static_cast<unsigned>(kBlocks * (stream.p.rows * 128 + kActivationBytes));
  stream.produce([&](int stage, int k, int row, int batch) {
    barrier_arrive_expect(&stream.shared.full[stage], bytes);
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      copy_in(stream.block(stage, i), map, &stream.shared.full[stage], k + i * kBlockElements, row,
              stream.p.gemm.b_batch == 0 ? 0 : batch, kEvictFirst);
    }
  });
}

/// Copies the activations; one thread of another warp, so that the weights need not wait for the
/// kernel before.
__device__ __forceinline__ void produce_activations(const Stream& stream, const TensorMap* map) {
  wait_for_previous_kernel();
  launch_next_kernel();
  stream.produce([&](int stage, int k, int /*row*/, int batch) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      copy_in(stream.block(stage, i) + stream.weight_bytes, map, &stream.shared.full[stage],
              k + i * kBlockElements, 0, stream.p.gemm.a_batch == 0 ? 0 : batch, kEvictLast);
    }
  });
}

/// Multiplies one tile; `at` moves on to the next.
__device__ __forceinline__ void consume(const Stream& stream, Position& at,
                                        float (&acc)[kCols / 2]) {
  constexpr unsigned long long kLayout = wgmma_layout(16, 1024);
  const int consumer = threadIdx.x / 128;
  const bool signals = threadIdx.x % 32 == 0;
#pragma unroll
  for (float& x : acc) x = 0;
  int previous = -1;
  for (int i = 0; i < stream.steps; ++i) {
    barrier_wait(&stream.shared.full[at.stage], at.round & 1);
    wgmma_fence();
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const unsigned base = shared_address(stream.block(at.stage, b));
      const auto a = wgmma_descriptor(kLayout, base + consumer * 64 * 128);
      const auto x = wgmma_descriptor(kLayout, base + stream.weight_bytes);
#pragma unroll
      for (int k = 0; k < 4; ++k) Product::shared(acc, a + 2 * k, x + 2 * k, 1);
    }
    wgmma_commit();
    wgmma_wait<1>();
    if (previous >= 0 && signals) barrier_arrive(&stream.shared.empty[previous]);
    previous = at.stage;
    at.advance(stream.p.stages);
  }
  wgmma_wait<0>();
  if (previous >= 0 && signals) barrier_arrive(&stream.shared.empty[previous]);
}

/// Sends the blocks of columns that others store to them, and sums what they send, in the order of
/// the CTAs: acc then holds the whole sums of the blocks c with c % kSplit == rank.
__device__ __forceinline__ void exchange(Shared& shared, int rank, float (&acc)[kCols / 2]) {
  const int thread = threadIdx.x;
#pragma unroll
  for (int c = 0; c < kColBlocks; ++c) {
    const int to = c % kSplit;
    if (to == rank) continue;
    store_remote(remote_address(&shared.partial[rank - (rank > to)][c / kSplit][thread], to),
                 acc + 4 * c, remote_address(&shared.landed, to));
  }
  if (rank >= kColBlocks) return;
  barrier_wait(&shared.landed, 0);
#pragma unroll
  for (int c = 0; c < kColBlocks; ++c) {
    if (c % kSplit != rank) continue;
    float4 sum = {0, 0, 0, 0};
#pragma unroll
    for (int from = 0; from < kSplit; ++from) {
      float4 part = {acc[4 * c], acc[4 * c + 1], acc[4 * c + 2], acc[4 * c + 3]};
      if (from != rank) part = shared.partial[from - (from > rank)][c / kSplit][thread];
      sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
    }
    acc[4 * c] = sum.x, acc[4 * c + 1] = sum.y, acc[4 * c + 2] = sum.z, acc[4 * c + 3] = sum.w;
  }
}

__device__ __forceinline__ void store_tile(const StreamParams& p, int rank, int tile,
                                           const float (&acc)[kCols / 2]) {
  const int lane = threadIdx.x % 32;
  const int batch = p.gemm.batch > 1 ? tile / p.tiles : 0;
  const int first = (tile - batch * p.tiles) * p.rows;
#pragma unroll
  for (int upper = 0; upper < 2; ++upper) {
    const int row = threadIdx.x / 32 * 16 + 8 * upper + lane / 4;
    if (row >= p.rows || first + row >= p.gemm.n) continue;
#pragma unroll
    for (int c = 0; c < kColBlocks; ++c) {
      if (kSplit > 1 && c % kSplit != rank) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float x[1] = {acc[4 * c + 2 * upper + i]};
        Output::store(p.gemm, batch, 8 * c + 2 * (lane % 4) + i, first + row, x);
      }
    }
  }
}

/// The barriers that the first copies need; by the thread that issues them. A lane for each would
/// be a loop over the lanes, with a fence in every round.
__device__ __forceinline__ void init_full(Shared& shared, int stages) {
  barrier_init(&shared.ready, 1);
#pragma unroll 4
  for (int i = 0; i < stages; ++i) barrier_init(&shared.full[i], 1);
  fence_barrier_init();
}

/// The others, by another thread at the same time.
__device__ __forceinline__ void init_empty(Shared& shared, int stages, int rank) {
#pragma unroll 4
  for (int i = 0; i < stages; ++i) barrier_init(&shared.empty[i], 4 * kConsumers);
  if constexpr (kSplit > 1) {
    barrier_init(&shared.landed, 1);
    const int blocks = (kColBlocks - rank + kSplit - 1) / kSplit;
    barrier_arrive_expect(&shared.landed,
                          blocks * (kSplit - 1) * kConsumerThreads * sizeof(float4));
  }
  fence_barrier_init();
}

extern "C" __global__ void __launch_bounds__(kThreads, kCtas)
    gemm_stream_ring(const __grid_constant__ TensorMap weights,
                     const __grid_constant__ TensorMap activations,
                     const __grid_constant__ StreamParams p) {
  extern __shared__ __align__(1024) char memory[];
  __shared__ Shared shared;
  const int warp = uniform(threadIdx.x / 32);
  const int rank = kSplit > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int stages_of_k = (p.gemm.k + kBlocks * kBlockElements - 1) / (kBlocks * kBlockElements);
  // Swizzled boxes start at multiples of 1024 bytes; the host allows for it.
  const unsigned misaligned = shared_address(memory) % 1024;
  const Stream stream{p,
                      memory + (misaligned == 0 ? 0 : 1024 - misaligned),
                      shared,
                      rank,
                      (p.rows + 7) / 8 * 1024,
                      (stages_of_k - rank + kSplit - 1) / kSplit,
                      static_cast<int>(blockIdx.x) / kSplit,
                      static_cast<int>(gridDim.x) / kSplit,
                      p.tiles * p.gemm.batch};

  const bool copies_weights = warp == 4 * kConsumers;
  const bool copies_activations = warp > 4 * kConsumers;
  const bool chosen = elect_one();
  if (copies_weights) {
    if (chosen) init_full(shared, p.stages);
    __syncwarp();
    named_barrier_arrive(kReady, kThreads);
  } else {
    if (copies_activations && chosen) init_empty(shared, p.stages, rank);
    __syncwarp();
    named_barrier(kReady, kThreads);
  }
  if constexpr (kSplit > 1) {
    // What the activations' warp has initialised is its own CTA's.
    if (copies_activations) {
      cluster_arrive();
    } else {
      cluster_arrive_relaxed();
    }
  }
  if (copies_weights || copies_activations) {
    if (chosen && copies_weights) produce_weights(stream, &weights);
    if (chosen && copies_activations) {
      barrier_arrive(&shared.ready);
      produce_activations(stream, &activations);
    }
    __syncwarp();
    if constexpr (kSplit > 1) cluster_wait();
    return;
  }
  if constexpr (kSplit > 1) cluster_wait();  // the others' barriers are ready
  Position at;
  for (int tile = stream.first_tile; tile < stream.all_tiles; tile += stream.tile_stride) {
    float acc[kCols / 2];
    consume(stream, at, acc);
    if constexpr (kSplit > 1) exchange(shared, rank, acc);
    wait_for_previous_kernel();
    store_tile(p, rank, tile, acc);
  }
}

}  // namespace gemwright_device
