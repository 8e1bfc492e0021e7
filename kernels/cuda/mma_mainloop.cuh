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
  static constexpr int kTileWarpsM = kWarpsM, kTileWarpsN = kWarpsN;
  static constexpr int kTileWarps = kWarpsM * kWarpsN;
  static constexpr int kPartsOfK = kWarpsK;
  static constexpr int kWarpM = kTileM / kWarpsM;
  static constexpr int kWarpN = kTileN / kWarpsN;
  static constexpr int kBlocksM = kWarpM / kRowsA;
  static constexpr int kBlocksN = kWarpN / kRowsB;
  using FragmentsA = Fragments<kType, kMajorA, kTileM, kTileK, kWarpM, true>;
  using FragmentsB = Fragments<kType, kMajorB, kTileN, kTileK, kWarpN, false>;
  static constexpr int kBytesA = FragmentsA::Tile::kBytes;
  static constexpr int kStageBytes = kBytesA + FragmentsB::Tile::kBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
  static constexpr int kSteps = FragmentsA::kSteps / kWarpsK;
  /// Parts in which a k-tile is fetched: all at once, the addresses need registers that are not
  /// there, and later than need be, loads come late.
  static constexpr int kParts = kSteps > 2 ? 2 : 1;
  static_assert(kWarpM % kRowsA == 0 && kWarpN % kRowsB == 0);
  static_assert(kSteps % 2 == 0 && kStages >= 2);
  // Fragments::load finds a step within the swizzle of 4 of them by one XOR.
  static_assert(kWarpsK == 1 || kSteps == 2 || kSteps % 4 == 0);

  float acc[kBlocksM][kBlocksN][4];

  /// `count` k-tiles, from where the loaders stand, in the order of K if all of them are `whole`;
  /// else the last one comes first: see TileLoader. `shared` is kStages * kStageBytes, aligned to
  /// 128 bytes. Two fragments are kept: one is loaded while the other is multiplied, and the first
  /// of the next k-tile before the last product of this one.
  template <typename LoaderA, typename LoaderB>
  __device__ __forceinline__ void run(LoaderA& a, LoaderB& b, int count, bool whole,
                                      unsigned shared, int warp, int lane) {
    const int part = warp / kTileWarps * kSteps;
    const auto place_a = FragmentsA::place(warp % kWarpsM * kWarpM, part, lane);
    const auto place_b = FragmentsB::place(warp / kWarpsM % kWarpsN * kWarpN, part, lane);
    const int early = whole ? 0 : 1;
#pragma unroll 1
    for (int i = 0; i < kStages - 1; ++i) {
      if (i < count) {
        const unsigned to = shared + i * kStageBytes;
        const int tile = i < early ? count - 1 : i - early;
        a.start_at(to, tile);
        b.start_at(to + kBytesA, tile);
        a.finish(to);
        b.finish(to + kBytesA);
      }
      copy_commit();
    }
    a.skip(kStages - 1 - early);
    b.skip(kStages - 1 - early);
    clear();
    FragmentsA a0, a1;
    FragmentsB b0, b1;
    unsigned slot = shared;
    unsigned free_slot = shared + (kStages - 1) * kStageBytes;
    const unsigned end = shared + kStages * kStageBytes;
    copy_wait<kStages - 2>();
    __syncthreads();
    a0.load(slot, place_a, 0);
    b0.load(slot + kBytesA, place_b, 0);

#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const bool more = i + kStages - 1 < count;
#pragma unroll
      for (int step = 0; step < kSteps; step += 2) {
        a1.load(slot, place_a, step + 1);
        b1.load(slot + kBytesA, place_b, step + 1);
        if (more && step < kParts) {
          a.start(free_slot, step, kParts);
          b.start(free_slot + kBytesA, step, kParts);
        }
        multiply_all(a0, b0);
        if (step == kSteps - 2) {
          if (more) {
            a.finish(free_slot);
            b.finish(free_slot + kBytesA);
          }
          copy_commit();
          free_slot = slot;
          slot = slot + kStageBytes == end ? shared : slot + kStageBytes;
          copy_wait<kStages - 2>();
          __syncthreads();
        }
        const int next = (step + 2) % kSteps;
        a0.load(slot, place_a, next);
        b0.load(slot + kBytesA, place_b, next);
        if (more && step + 1 < kParts) {
          a.start(free_slot, step + 1, kParts);
          b.start(free_slot + kBytesA, step + 1, kParts);
        }
        multiply_all(a1, b1);
      }
    }
    copy_wait<0>();
  }

 private:
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
