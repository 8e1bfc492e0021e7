// The product of one tile: a ring of k-tiles filled by two loaders, and mma.sync on what has
// arrived.
#pragma once

#include "mma_fragments.cuh"
#include "ptx_async.cuh"

namespace gemwright_device {

/// Shape of a CTA's work. Each of kWarpsM x kWarpsN warps computes an equal part of the tile, for
/// an equal part of every k-tile where kWarpsK of them share it.
template <int kType, int kMajorA, int kMajorB, int kTileM, int kTileN, int kTileK, int kWarpsM,
          int kWarpsN, int kWarpsK, int kStages>
struct MmaMainloop {
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN * kWarpsK;
  static constexpr int kWarpM = kTileM / kWarpsM;
  static constexpr int kWarpN = kTileN / kWarpsN;
  static constexpr int kBlocksM = kWarpM / kRowsA;
  static constexpr int kBlocksN = kWarpN / kRowsB;
  static constexpr int kValues = kBlocksM * kBlocksN * 4;
  using FragmentsA = Fragments<kType, kMajorA, kTileM, kTileK, kWarpM, true>;
  using FragmentsB = Fragments<kType, kMajorB, kTileN, kTileK, kWarpN, false>;
  static constexpr int kBytesA = FragmentsA::Tile::kBytes;
  static constexpr int kStageBytes = kBytesA + FragmentsB::Tile::kBytes;
  static constexpr int kSteps = FragmentsA::kSteps / kWarpsK;
  static_assert(kWarpM % kRowsA == 0 && kWarpN % kRowsB == 0);
  static_assert(kSteps % 2 == 0 && kStages >= 2);
  // A part of K begins where the swizzle does.
  static_assert(kWarpsK == 1 || kSteps % 4 == 0);

  float acc[kBlocksM][kBlocksN][4];

  /// `count` k-tiles, from where the loaders stand. `shared` is kStages * kStageBytes, aligned to
  /// 128 bytes. Two fragments are kept: one is loaded while the other is multiplied, and the first
  /// of the next k-tile before the last product of this one.
  template <typename LoaderA, typename LoaderB>
  __device__ __forceinline__ void run(LoaderA& a, LoaderB& b, int count, unsigned shared, int warp,
                                      int lane) {
    const int row_m = warp % kWarpsM * kWarpM;
    const int row_n = warp / kWarpsM % kWarpsN * kWarpN;
    const int part = warp / (kWarpsM * kWarpsN) * kSteps;
    const unsigned part_a = FragmentsA::step_offset(part);
    const unsigned part_b = kBytesA + FragmentsB::step_offset(part);
#pragma unroll 1
    for (int i = 0; i < kStages - 1; ++i) {
      if (i < count) {
        const unsigned to = shared + i * kStageBytes;
        if (i == 0) {
          a.start_last(to, count);
          b.start_last(to + kBytesA, count);
        } else {
          a.start(to);
          b.start(to + kBytesA);
        }
        a.finish(to);
        b.finish(to + kBytesA);
      }
      copy_commit();
    }
    clear();
    FragmentsA a0, a1;
    FragmentsB b0, b1;
    unsigned slot = shared;
    unsigned free_slot = shared + (kStages - 1) * kStageBytes;
    const unsigned end = shared + kStages * kStageBytes;
    copy_wait<kStages - 2>();
    __syncthreads();
    a0.load(slot + part_a, row_m, 0, lane);
    b0.load(slot + part_b, row_n, 0, lane);

#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const bool more = i + kStages - 1 < count;
#pragma unroll
      for (int step = 0; step < kSteps; step += 2) {
        a1.load(slot + part_a, row_m, step + 1, lane);
        b1.load(slot + part_b, row_n, step + 1, lane);
        if (step == 0) {
          if (more) {
            a.start(free_slot);
            b.start(free_slot + kBytesA);
          }
          copy_commit();
        }
        multiply_all(a0, b0);
        if (step == kSteps - 2) {
          if (more) {
            a.finish(free_slot);
            b.finish(free_slot + kBytesA);
          }
          free_slot = slot;
          slot = slot + kStageBytes == end ? shared : slot + kStageBytes;
          copy_wait<kStages - 2>();
          __syncthreads();
        }
        const int next = (step + 2) % kSteps;
        a0.load(slot + part_a, row_m, next, lane);
        b0.load(slot + part_b, row_n, next, lane);
        multiply_all(a1, b1);
      }
    }
    copy_wait<0>();
    if constexpr (kWarpsK > 1) add_parts(shared, warp, lane);
  }

  /// Whether a warp has the sums of the tile, or only lent its part of K.
  static __device__ __forceinline__ bool holds_sums(int warp) {
    return warp < kWarpsM * kWarpsN;
  }

 private:
  /// The parts of K come together in the first warps, in order.
  __device__ __forceinline__ void add_parts(unsigned shared, int warp, int lane) {
    constexpr int kTileWarps = kWarpsM * kWarpsN;
    static_assert((kWarpsK - 1) * kTileWarps * kValues * 128 <= kStages * kStageBytes);
    auto at = [&](int from, int i, int j) {
      return shared + 16 * (((from * kBlocksM + i) * kBlocksN + j) * 32 + lane);
    };
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j) {
        if (!holds_sums(warp)) store_shared(at(warp - kTileWarps, i, j), acc[i][j]);
      }
    }
    __syncthreads();
    if (!holds_sums(warp)) return;
#pragma unroll
    for (int part = 0; part < kWarpsK - 1; ++part) {
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
        for (int j = 0; j < kBlocksN; ++j) {
          float x[4];
          load_shared(x, at(part * kTileWarps + warp, i, j));
#pragma unroll
          for (int r = 0; r < 4; ++r) acc[i][j][r] += x[r];
        }
      }
    }
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) acc[i][j][r] = 0;
      }
    }
  }

  __device__ __forceinline__ void multiply_all(const FragmentsA& a, const FragmentsB& b) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j) {
        // Back and forth, so that neighbouring products share a fragment of B in the reuse cache.
        const int column = i % 2 == 0 ? j : kBlocksN - 1 - j;
        const int high = 2 * (column % 2);
        multiply<kType>(acc[i][column], a.x[i][0], a.x[i][1], a.x[i][2], a.x[i][3],
                        b.x[column / 2][high], b.x[column / 2][high + 1]);
      }
    }
  }
};

}  // namespace gemwright_device
