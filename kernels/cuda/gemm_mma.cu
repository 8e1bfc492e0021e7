// GEMM on the tensor cores of sm_80 and newer: mma.sync fed by cp.async through a ring of stages.
//
// The preamble gives: kType (of A and B; kF32 is computed as tf32), kMajorA, kMajorB, kCopyA,
// kCopyB (see TileLoader's kBytes), kTileM, kTileN, kTileK, kWarpsM, kWarpsN, kWarpsK,
// kStages, kSplits (K may be split over CTAs), and of the epilogue kTypeD, kWidth, kHasC, kTypeC,
// kBias, kTypeBias.
#include "epilogue.cuh"
#include "mma_mainloop.cuh"
#include "scheduler.cuh"
#include "tile_loader.cuh"
#include "tile_output.cuh"

namespace gemwright_device {

using Mainloop = MmaMainloop<kType, kMajorA, kMajorB, kTileM, kTileN, kTileK, kWarpsM, kWarpsN,
                             kWarpsK, kStages>;
using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;

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
  product.run(a, b, range.end - range.begin, p.k % kTileK == 0, shared_address(stages), warp, lane);

  TileOutput<Mainloop, Output, kTileM, kTileN, kWidth, kSplits>::store(
      p, tile, product, shared_address(stages), thread, &arrival);
}

}  // namespace gemwright_device
