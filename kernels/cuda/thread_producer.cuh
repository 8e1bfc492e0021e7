// Producer of the warp-specialised kernels where bulk copies cannot take an operand (base or pitch
// of no 16-byte multiple, strides of 0 or of no unit, M- or N-major f32): warpgroups of threads
// bring it, by way of registers, into the layout that bulk copies would give it.
#pragma once

#include "mainloop_wgmma.cuh"
#include "tile_loader.cuh"

namespace gemwright_device {

/// An operand that bulk copies bring; others are loaded in a way of tile_loader.cuh.
constexpr int kBulk = -2;

constexpr int kProducerGroups = 2;
constexpr int kProducerThreads = 128 * kProducerGroups;

/// Arrivals that complete a stage: one of each producer warp, and the bulk copies' own.
template <int LoadA, int LoadB>
constexpr int kThreadArrivals = kProducerThreads / 32 + (LoadA == kBulk || LoadB == kBulk ? 1 : 0);

/// What a tile needs of an operand: its rows from `row` on, of the batch.
struct ThreadOperand {
  OperandView view;  // of batch 0
  const TensorMap* map;
  unsigned long long policy;
  long long batch_stride;  // in elements
  int row, batch;
  int rows;  // of one bulk copy
};

/// Fills an operand's part of a stage. It lies as pieces of up to 128 rows (K-major), or of 64 rows
/// x 64 of K; four chunks of 16 bytes a thread are on their way at a time, which is what registers
/// allow.
template <int Type, bool MajorRows, int Load, int Rows, int TileK>
class StageFiller {
  static constexpr int kPiece = MajorRows ? 64 : Rows / ((Rows + 127) / 128);
  static constexpr int kPieces = Rows / kPiece;
  static constexpr int kTogether = MajorRows ? 2 : 1;
  using Loader = TileLoader<Type, MajorRows ? kAlongRows : kAlongK, Load, kPiece, TileK,
                            kProducerThreads, Type == kF32>;
  static_assert(kPieces * kPiece == Rows && kPiece % 8 == 0, "pieces are whole swizzle atoms");

 public:
  __device__ __forceinline__ StageFiller(const ThreadOperand& x, int first_k) {
    OperandView view = x.view;
    view.base = static_cast<const Element<Type>*>(view.base) + x.batch * x.batch_stride;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      pieces_[i] = Loader(view, x.row + i * kPiece, first_k, threadIdx.x);
    }
  }

  /// The next k-block; or, with `count` above 0, the last of `count`, ahead of the others.
  __device__ __forceinline__ void fill(unsigned shared, int count) {
#pragma unroll
    for (int first = 0; first < kPieces; first += kTogether) {
#pragma unroll
      for (int i = first; i < first + kTogether && i < kPieces; ++i) {
        if (count > 0) {
          pieces_[i].start_at(shared + i * kPiece * 128, count - 1);
        } else {
          pieces_[i].start(shared + i * kPiece * 128);
        }
      }
#pragma unroll
      for (int i = first; i < first + kTogether && i < kPieces; ++i) {
        pieces_[i].finish(shared + i * kPiece * 128);
      }
    }
  }

 private:
  Loader pieces_[kPieces];
};

/// An operand that bulk copies bring has no filler.
template <int Type, bool MajorRows, int Rows, int TileK>
class StageFiller<Type, MajorRows, kBulk, Rows, TileK> {
 public:
  __device__ __forceinline__ StageFiller(const ThreadOperand& /*x*/, int /*first_k*/) {}
  __device__ __forceinline__ void fill(unsigned /*shared*/, int /*count*/) {}
};

/// All producer threads' work for one tile: k-blocks [first, last), the last one first since it
/// alone may reach past the end of K.
template <int Type, int LoadA, int LoadB, typename R>
__device__ __forceinline__ void produce_by_threads(const R& ring, RingPosition<R::kStages>& at,
                                                   const ThreadOperand& a, const ThreadOperand& b,
                                                   int first, int last, unsigned stage_bytes) {
  constexpr bool kCopies = LoadA == kBulk || LoadB == kBulk;
  StageFiller<Type, R::kAMajorM, LoadA, R::kTileM, R::kTileK> fill_a(a, first * R::kTileK);
  StageFiller<Type, R::kBMajorN, LoadB, R::kTileN, R::kTileK> fill_b(b, first * R::kTileK);
  const int count = last - first;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    Barrier* full = ring.full + at.stage;
    char* stage = ring.data + at.stage * R::kStageBytes;
    barrier_wait(ring.empty + at.stage, at.parity ^ 1);
    if (kCopies && threadIdx.x == 0) {
      const int k = (i == 0 ? last - 1 : first + i - 1) * R::kTileK;
      barrier_arrive_expect(full, stage_bytes);
      if constexpr (LoadA == kBulk) {
        load_operand<R::kTileM, R::kAMajorM, 1>(stage, a.map, full, a.row, k,
                                                a.batch_stride == 0 ? 0 : a.batch, 0, a.rows, 0,
                                                a.policy);
      }
      if constexpr (LoadB == kBulk) {
        load_operand<R::kTileN, R::kBMajorN, 1>(stage + R::kBytesA, b.map, full, b.row, k,
                                                b.batch_stride == 0 ? 0 : b.batch, 0, b.rows, 0,
                                                b.policy);
      }
    }
    fill_a.fill(shared_address(stage), i == 0 ? count : 0);
    fill_b.fill(shared_address(stage) + R::kBytesA, i == 0 ? count : 0);
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(full);
    at.next();
  }
}

}  // namespace gemwright_device
