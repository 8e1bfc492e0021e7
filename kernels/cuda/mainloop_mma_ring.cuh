// Mainloop of warp-specialised kernels that multiply by mma.sync: the ring, its producer and the
// order of accumulators are those of mainloop_wgmma.cuh.
#pragma once

#include "mainloop_wgmma.cuh"
#include "mma_fragments.cuh"

namespace gemwright_device {

/// Columns of a consumer warpgroup: one box of the ring where B is N-major.
constexpr int kMmaColumns = 64;

/// A warp's fragments for one step of K (32 bytes): 16 rows of each of Blocks x 64 rows of A, and
/// the 64 columns of its warpgroup. 64 rows are 8192 bytes of the ring in either major. Bulk copies
/// have rounded to tf32.
template <int kType, int Blocks, bool AMajorM, bool BMajorN>
struct RingFragments {
  static constexpr int kTileK = 128 / static_cast<int>(sizeof(Element<kType>));
  using A = Fragments<kType, AMajorM ? kAlongRows : kAlongK, 64, kTileK, 16, true, false>;
  using B = Fragments<kType, BMajorN ? kAlongRows : kAlongK, 64, kTileK, kMmaColumns, false, false>;
  static constexpr int kSteps = A::kSteps;

  /// Where a lane finds its part of a stage: addresses that no step has to work out.
  struct Place {
    typename A::Place a[kSteps];
    typename B::Place b[kSteps];
  };

  A a[Blocks];
  B b;

  /// Of a thread of the warpgroup with number `consumer`, whose columns are that box of B.
  static __device__ __forceinline__ Place place(int consumer) {
    const int lane = threadIdx.x % 32;
    Place place;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      place.a[step] = A::place(threadIdx.x / 32 % 4 * 16, step, lane);
      place.b[step] = B::place(0, step, lane);
      place.b[step].offset += (Blocks + consumer) * 8192;
    }
    return place;
  }

  __device__ __forceinline__ void load(unsigned stage, const Place& place, int step) {
#pragma unroll
    for (int i = 0; i < Blocks; ++i) a[i].load(stage + i * 8192, place.a[step], 0);
    b.load(stage, place.b[step], 0);
  }

  __device__ __forceinline__ void multiply_all(float (&acc)[Blocks][kMmaColumns / 2]) const {
#pragma unroll
    for (int i = 0; i < Blocks; ++i) {
#pragma unroll
      for (int j = 0; j < kMmaColumns / 8; ++j) {
        // Back and forth, so that neighbouring products share a fragment of B in the reuse cache.
        const int column = i % 2 == 0 ? j : kMmaColumns / 8 - 1 - j;
        const int high = 2 * (column % 2);
        const unsigned(&x)[4] = a[i].x[0];
        multiply<kType>(acc[i] + 4 * column, x[0], x[1], x[2], x[3], b.x[column / 2][high],
                        b.x[column / 2][high + 1]);
      }
    }
  }
};

/// A consumer warpgroup's work for one tile: acc = A[64 * Blocks rows] * B[its 64 columns] over
/// `count` stages, in the order of wgmma's accumulators. The fragments of one step are loaded while
/// those of the step before are multiplied, across stages too.
///
/// Every instruction beside the products takes a clock from them: on Hopper mma.sync keeps a
/// scheduler busy for all of its 6 clocks. Hence addresses that need none.
template <typename R, int kType, int Blocks>
__device__ __forceinline__ void consume_by_warps(const R& ring, RingPosition<R::kStages>& at,
                                                 const ClusterPlace& place, int consumer, int count,
                                                 float (&acc)[Blocks][kMmaColumns / 2]) {
  using F = RingFragments<kType, Blocks, R::kAMajorM, R::kBMajorN>;
  static_assert(F::kSteps % 2 == 0 && R::kTileM == 64 * Blocks);
  const int lane = threadIdx.x % 32;
  const typename F::Place from = F::place(consumer);
  const unsigned base = shared_address(ring.data);
  unsigned stage = base + at.stage * R::kStageBytes;
#pragma unroll
  for (int i = 0; i < Blocks; ++i) {
#pragma unroll
    for (int j = 0; j < kMmaColumns / 2; ++j) acc[i][j] = 0.0F;
  }
  if (count == 0) return;
  F f[2];
  barrier_wait(ring.full + at.stage, at.parity);
  f[0].load(stage, from, 0);
#pragma unroll 1
  for (int left = count; left > 0; --left) {
#pragma unroll
    for (int step = 0; step + 1 < F::kSteps; ++step) {
      f[(step + 1) % 2].load(stage, from, step + 1);
      f[step % 2].multiply_all(acc);
    }
    release(ring, at.stage, place, lane);
    at.next();
    stage = at.stage == 0 ? base : stage + R::kStageBytes;
    // After the last stage this loads what nobody uses.
    if (left > 1) barrier_wait(ring.full + at.stage, at.parity);
    f[0].load(stage, from, 0);
    f[1].multiply_all(acc);
  }
}

}  // namespace gemwright_device
