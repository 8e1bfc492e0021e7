// GEMM in fp32 on the CUDA cores with a packed low-bit weight: every format, any types, strides and
// alignments. What faster kernels leave over.
//
// The preamble gives: kTypeA, kMajorA, kVectorA (see FloatTileLoader), kOrdered (columns of the
// weight have an order of their own); kBits, kCodes, kScaleType, kGroup, kZeros, kGlobalScale,
// kPaired, kTypeB, kAcross (see lowbit_element.cuh); kTileM, kTileN, kTileK, kThreadM, kThreadN
// (outputs of a thread, multiples of 4), and of the epilogue kTypeD, kWidth, kHasC, kTypeC, kBias,
// kTypeBias.
#include "lowbit_element.cuh"
#include "reduce.cuh"
#include "simt_tile.cuh"

extern "C" __global__ void __launch_bounds__(gemwright_device::kThreads, gemwright_device::kMinCtas)
    gemm_lowbit_simt(const __grid_constant__ gemwright_device::LowbitTileParams params) {
  using namespace gemwright_device;
  __shared__ __align__(128) float tile_a[2][kTileK * kTileM];
  __shared__ __align__(128) float tile_b[2][kTileK * kTileN];
  __shared__ unsigned arrival;
  const GemmParams& p = params.gemm;
  const int thread = threadIdx.x;
  const Tile tile = tile_at(blockIdx.x, tiles_of(p.m, kTileM), tiles_of(p.n, kTileN), p);
  const Range range = split_range((p.k + kTileK - 1) / kTileK, p.splits, tile.split);
  const Position at = position(thread);
  const int first = range.begin * kTileK;
  const int count = range.end - range.begin;
  LowbitTileLoader<kTileN, kTileK, kThreads> b{
      {params.weight, p.n, p.k}, tile.n * kTileN, first, thread};

  float acc[kThreadM][kThreadN] = {};
  if constexpr (kOrdered) {
    OrderedTileLoader<kTypeA, kTileM, kTileK, kThreads> a{p, params.weight.order, tile.m * kTileM,
                                                          first, thread};
    accumulate(acc, a, b, tile_a, tile_b, count, at);
  } else {
    const OperandView view{static_cast<const Element<kTypeA>*>(p.a), p.a_row, p.a_col, p.m, p.k};
    FloatTileLoader<kTypeA, kMajorA, kVectorA, kTileM, kTileK, kThreads> a(view, tile.m * kTileM,
                                                                           first, thread);
    accumulate(acc, a, b, tile_a, tile_b, count, at);
  }

  if (p.splits > 1 &&
      !reduce_splits<kThreads>(p, tile.linear, tile.split, thread,
                               reinterpret_cast<float(&)[kThreadM * kThreadN]>(acc), &arrival)) {
    return;
  }
  if constexpr (kGlobalScale) {
    const float scale = *params.weight.global_scale;
#pragma unroll
    for (auto& row : acc) {
#pragma unroll
      for (float& x : row) x *= scale;
    }
  }
  store(p, tile, at, acc);
}
