// Mainloop of warp-specialised wgmma kernels: one producer thread fills a ring of stages by bulk
// tensor copies, multicast across the cluster; consumer warpgroups multiply out of it.
#pragma once

#include "ptx_hopper.cuh"
#include "ptx_wgmma.cuh"

namespace gemwright_device {

/// Shape of the ring. A stage holds A[TileM x K] then B[TileN x K] with 128 bytes of K (K-major:
/// rows of 128 bytes), or boxes of 64 elements x 64 of K where an operand is M- or N-major;
/// 128-byte swizzle. CTAs of a cluster that share rows of tiles load 1/ClusterN of A each and send
/// it to all; those that share columns do the same with B.
template <typename Type_, int ElementBytes_, int TileM_, int TileN_, int Stages_, int ClusterM_,
          int ClusterN_, bool AMajorM_, bool BMajorN_>
struct Ring {
  using Type = Type_;
  static constexpr int kTileM = TileM_, kTileN = TileN_, kStages = Stages_;
  static constexpr int kClusterM = ClusterM_, kClusterN = ClusterN_;
  static constexpr bool kAMajorM = AMajorM_, kBMajorN = BMajorN_;
  static constexpr int kTileK = 128 / ElementBytes_;
  static constexpr int kBytesA = kTileM * 128, kBytesB = kTileN * 128;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static_assert(kTileM % (8 * kClusterN) == 0 && kTileN % (8 * kClusterM) == 0,
                "shares of a tile must be whole swizzle atoms");
  static_assert(!kAMajorM || kTileM % 64 == 0, "M-major boxes are 64 wide");
  static_assert(!kBMajorN || kTileN % 64 == 0, "N-major boxes are 64 wide");

  char* data;      // kStages * kStageBytes, 1024-byte aligned
  Barrier* full;   // bytes of a stage have landed
  Barrier* empty;  // every consumer that reads what we send has let go of the stage
};

/// Where a CTA is in its cluster: along M, along N, and which part of a split K.
struct ClusterPlace {
  int m, n, split;
  int first;  // rank of the CTA at (0, 0) of the same part
};

/// Position in the ring: stage and the parity of its use.
template <int Stages>
struct RingPosition {
  int stage = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void next() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void skip(int count) {
    const int at = stage + count;
    parity ^= (at / Stages) & 1;
    stage = at % Stages;
  }
};

/// One operand's share of a stage: Rows of the tile at `row`, K at `k`; Sharers CTAs each bring one
/// part, `part` is ours, `rows` those of a part where K is contiguous.
template <int Rows, bool MajorRows, int Sharers>
__device__ __forceinline__ void load_operand(char* to, const TensorMap* map, Barrier* barrier,
                                             int row, int k, int z, int part, int rows,
                                             unsigned short mask, unsigned long long policy) {
  const auto copy = [&](char* at, int x, int y) {
    if constexpr (Sharers > 1) {
      copy_in_multicast(at, map, barrier, x, y, z, policy, mask);
    } else {
      copy_in(at, map, barrier, x, y, z, policy);
    }
  };
  if constexpr (MajorRows) {
    constexpr int kPart = 64 / Sharers;  // of K
#pragma unroll
    for (int box = 0; box < Rows / 64; ++box) {
      copy(to + box * 8192 + part * kPart * 128, row + box * 64, k + part * kPart);
    }
  } else {
    copy(to + part * rows * 128, k, row + part * rows);
  }
}

/// An operand as the producer thread copies it.
struct BulkOperand {
  const TensorMap* map;
  unsigned long long policy;
  int row, batch;  // of the tile
  int rows;        // of one copy, where K is contiguous
};

/// The producer thread's work for one tile: k-blocks [first, last), of `stage_bytes` each.
template <typename R>
__device__ __forceinline__ void produce(const R& ring, RingPosition<R::kStages>& at,
                                        const BulkOperand& a, const BulkOperand& b,
                                        const ClusterPlace& place, int first, int last,
                                        unsigned stage_bytes) {
  // Ranks go along M first. A goes to the CTAs of the same m, B to those of the same n.
  unsigned short a_mask = 0, b_mask = 0;
#pragma unroll
  for (int i = 0; i < R::kClusterN; ++i) a_mask |= 1u << (place.first + place.m + i * R::kClusterM);
#pragma unroll
  for (int i = 0; i < R::kClusterM; ++i) b_mask |= 1u << (place.first + place.n * R::kClusterM + i);
#pragma unroll 1  // in a short product it runs from cold caches
  for (int block = first; block < last; ++block) {
    Barrier* full = ring.full + at.stage;
    char* stage = ring.data + at.stage * R::kStageBytes;
    barrier_wait(ring.empty + at.stage, at.parity ^ 1);
    barrier_arrive_expect(full, stage_bytes);
    const int k = block * R::kTileK;
    load_operand<R::kTileM, R::kAMajorM, R::kClusterN>(stage, a.map, full, a.row, k, a.batch,
                                                       place.n, a.rows, a_mask, a.policy);
    load_operand<R::kTileN, R::kBMajorN, R::kClusterM>(stage + R::kBytesA, b.map, full, b.row, k,
                                                       b.batch, place.m, b.rows, b_mask, b.policy);
    at.next();
  }
}

/// Lets go of a stage: one thread each tells the CTAs that send to us (and ourselves). `thread` is
/// the number of ours among those that have finished with it together.
template <typename R>
__device__ __forceinline__ void release(const R& ring, int stage, const ClusterPlace& place,
                                        int thread) {
  if constexpr (R::kClusterM * R::kClusterN == 1) {
    if (thread == 0) barrier_arrive(ring.empty + stage);
  } else if (thread < R::kClusterM + R::kClusterN - 1) {
    // First those of our row (ourselves included), then the others of our column.
    int m = place.m, n = thread;
    if (thread >= R::kClusterN) {
      n = place.n;
      m = thread - R::kClusterN;
      m += m >= place.m;
    }
    barrier_arrive_remote(ring.empty + stage, place.first + m + n * R::kClusterM);
  }
}

/// A consumer warpgroup's work for one tile: acc = A[64 * Blocks rows from `row`] * B over `count`
/// stages. One stage's instructions run while the next stage's are issued. `issued` is called once
/// the last stage has been waited for.
template <typename R, int Blocks, typename Issued>
__device__ __forceinline__ void consume(const R& ring, RingPosition<R::kStages>& at,
                                        const ClusterPlace& place, int row, int count,
                                        float (&acc)[Blocks][R::kTileN / 2], Issued issued) {
  constexpr bool kTransposes = R::kTileK == 64;
  using Instruction =
      Wgmma<typename R::Type, WgmmaTail<kTransposes, R::kAMajorM, R::kBMajorN>, R::kTileN / 2>;
  // 32 bytes of K further: inside a swizzled row, or 16 rows on.
  constexpr int kStepA = R::kAMajorM ? 16 * 128 / 16 : 2;
  constexpr int kStepB = R::kBMajorN ? 16 * 128 / 16 : 2;
  constexpr unsigned long long kLayoutA = wgmma_layout(R::kAMajorM ? 8192 : 16, 1024);
  constexpr unsigned long long kLayoutB = wgmma_layout(R::kBMajorN ? 8192 : 16, 1024);
  const unsigned base = shared_address(ring.data);

  // Zeroed rather than overwritten by the first instruction: registers stay dead between tiles.
#pragma unroll
  for (int i = 0; i < Blocks; ++i) {
#pragma unroll
    for (int j = 0; j < R::kTileN / 2; ++j) acc[i][j] = 0.0F;
  }
  int previous = 0;
#pragma unroll
  for (int i = 0; i < Blocks; ++i) wgmma_pin(acc[i]);
  // Where its products take 384 clocks and more, one copy of a k-block does: four, with three more
  // for what is left, take ptxas up to four times as long.
  constexpr int kCopies = Blocks * R::kTileN >= 192 ? 1 : 4;
#pragma unroll kCopies
  for (int block = 0; block < count; ++block) {
    barrier_wait(ring.full + at.stage, at.parity);
    const unsigned stage = base + at.stage * R::kStageBytes;
    const unsigned long long a = wgmma_descriptor(kLayoutA, stage + row * 128);
    const unsigned long long b = wgmma_descriptor(kLayoutB, stage + R::kBytesA);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int i = 0; i < Blocks; ++i) {
        Instruction::shared(acc[i], a + i * (8192 / 16) + k * kStepA, b + k * kStepB, 1);
      }
    }
    wgmma_commit();
    if (block > 0) {
      wgmma_wait<1>();
      release(ring, previous, place, threadIdx.x % 128);
    }
    previous = at.stage;
    at.next();
  }
  issued();
  wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < Blocks; ++i) wgmma_pin(acc[i]);
  if (count > 0) release(ring, previous, place, threadIdx.x % 128);
}

}  // namespace gemwright_device
