// GEMM on the tensor cores of sm_80 and newer: mma.sync fed by cp.async through a ring of stages.
//
// The preamble gives: kType (of A and B; kF32 is computed as tf32), kMajorA, kMajorB, kCopyA,
// kCopyB (see TileLoader's kBytes), kTileM, kTileN, kTileK, kWarpsM, kWarpsN, kWarpsK,
// kStages, and of the epilogue kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias.
#include "epilogue.cuh"
#include "mma_mainloop.cuh"
#include "reduce.cuh"
#include "scheduler.cuh"
#include "tile_loader.cuh"

namespace gemwright_device {

using Mainloop = MmaMainloop<kType, kMajorA, kMajorB, kTileM, kTileN, kTileK, kWarpsM, kWarpsN,
                             kWarpsK, kStages>;
using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;

/// Stores a warp's accumulators, kTogether (1 or 4) blocks of 8 columns at a time.
template <int kTogether>
__device__ __forceinline__ void store(const GemmParams& p, int batch, int row, int col, int lane,
                                      const Mainloop& product) {
  const int g = lane / 4;
  const int t = lane % 4;
#pragma unroll
  for (int i = 0; i < Mainloop::kBlocksM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at_row = row + i * kRowsA + 8 * half + g;
#pragma unroll
      for (int j = 0; j < Mainloop::kBlocksN; j += kTogether) {
        float x[2 * kTogether];
#pragma unroll
        for (int block = 0; block < kTogether; ++block) {
          x[2 * block] = product.acc[i][j + block][2 * half];
          x[2 * block + 1] = product.acc[i][j + block][2 * half + 1];
        }
        if constexpr (kTogether == 4) {
          transpose_quad(x);
          Output::store(p, batch, at_row, col + (j + t) * kRowsB, x);
        } else {
          Output::store(p, batch, at_row, col + j * kRowsB + 2 * t, x);
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(Mainloop::kThreads, 1)
    gemm_mma(const __grid_constant__ GemmParams p) {
  extern __shared__ __align__(128) unsigned char stages[];
  __shared__ unsigned arrival;
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const Tile tile = tile_at(blockIdx.x, tiles_of(p.m, kTileM), tiles_of(p.n, kTileN), p);
  const Range range = split_range((p.k + kTileK - 1) / kTileK, p.splits, tile.split);

  constexpr int kSize = sizeof(Element<kType>);
  const OperandView view_a{static_cast<const char*>(p.a) + tile.batch * p.a_batch * kSize, p.a_row,
                           p.a_col, p.m, p.k};
  const OperandView view_b{static_cast<const char*>(p.b) + tile.batch * p.b_batch * kSize, p.b_col,
                           p.b_row, p.n, p.k};
  TileLoader<kType, kMajorA, kCopyA, kTileM, kTileK, Mainloop::kThreads> a(
      view_a, tile.m * kTileM, range.begin * kTileK, thread);
  TileLoader<kType, kMajorB, kCopyB, kTileN, kTileK, Mainloop::kThreads> b(
      view_b, tile.n * kTileN, range.begin * kTileK, thread);
  Mainloop product;
  product.run(a, b, range.end - range.begin, shared_address(stages), warp, lane);

  constexpr int kHolders = Mainloop::kThreads / kWarpsK;
  if (p.splits > 1 && !reduce_splits<kHolders>(
                          p, tile.linear, tile.split, thread,
                          reinterpret_cast<float(&)[Mainloop::kValues]>(product.acc), &arrival)) {
    return;
  }
  if (!Mainloop::holds_sums(warp)) return;
  constexpr int kTogether = kWidth > 2 && Mainloop::kBlocksN % 4 == 0 ? 4 : 1;
  store<kTogether>(p, tile.batch, tile.m * kTileM + warp % kWarpsM * Mainloop::kWarpM,
                   tile.n * kTileN + warp / kWarpsM * Mainloop::kWarpN, lane, product);
}

}  // namespace gemwright_device
