// GEMM in full fp32 on the CUDA cores, for any mix of types, strides and alignments.
//
// The preamble gives: kTypeA, kTypeB, kMajorA, kMajorB, kVectorA, kVectorB (see FloatTileLoader),
// kTileM, kTileN, kTileK, kThreadM, kThreadN (outputs of a thread, multiples of 4), and of the
// epilogue kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias.
#include "reduce.cuh"
#include "simt_tile.cuh"

namespace gemwright_device {

extern "C" __global__ void __launch_bounds__(kThreads, kMinCtas)
    gemm_simt(const __grid_constant__ GemmParams p) {
  __shared__ __align__(128) float tile_a[2][kTileK * kTileM];
  __shared__ __align__(128) float tile_b[2][kTileK * kTileN];
  __shared__ unsigned arrival;
  const int thread = threadIdx.x;
  const Tile tile = tile_at(blockIdx.x, tiles_of(p.m, kTileM), tiles_of(p.n, kTileN), p);
  const Range range = split_range((p.k + kTileK - 1) / kTileK, p.splits, tile.split);
  const Position at = position(thread);

  const OperandView view_a{static_cast<const Element<kTypeA>*>(p.a) + tile.batch * p.a_batch,
                           p.a_row, p.a_col, p.m, p.k};
  const OperandView view_b{static_cast<const Element<kTypeB>*>(p.b) + tile.batch * p.b_batch,
                           p.b_col, p.b_row, p.n, p.k};
  FloatTileLoader<kTypeA, kMajorA, kVectorA, kTileM, kTileK, kThreads> a(
      view_a, tile.m * kTileM, range.begin * kTileK, thread);
  FloatTileLoader<kTypeB, kMajorB, kVectorB, kTileN, kTileK, kThreads> b(
      view_b, tile.n * kTileN, range.begin * kTileK, thread);

  float acc[kThreadM][kThreadN] = {};
  accumulate(acc, a, b, tile_a, tile_b, range.end - range.begin, at);

  if (p.splits > 1 &&
      !reduce_splits<kThreads>(p, tile.linear, tile.split, thread,
                               reinterpret_cast<float(&)[kThreadM * kThreadN]>(acc), &arrival)) {
    return;
  }
  store(p, tile, at, acc);
}

}  // namespace gemwright_device
