// GEMM in full fp32 on the CUDA cores, for any mix of types, strides and alignments.
//
// The preamble gives: kTypeA, kTypeB, kMajorA, kMajorB, kVectorA, kVectorB (see FloatTileLoader),
// kTileM, kTileN, kTileK, kThreadM, kThreadN (outputs of a thread, multiples of 4), and of the
// epilogue kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias.
#include "epilogue.cuh"
#include "float_tile.cuh"
#include "reduce.cuh"
#include "scheduler.cuh"

namespace gemwright_device {

constexpr int kThreadsM = kTileM / kThreadM;
constexpr int kThreadsN = kTileN / kThreadN;
constexpr int kThreads = kThreadsM * kThreadsN;
// Two CTAs of 256 threads leave 128 registers a thread, which do not last for a longer unrolled
// loop; on sm_86 and sm_89 not for any.
constexpr bool kRoomForTwo = __CUDA_ARCH__ == 800 || __CUDA_ARCH__ >= 900;
constexpr int kMinCtas = kThreads == 256 && kRoomForTwo ? 2 : 1;
constexpr int kUnrolled = kThreads == 256 ? 2 : kTileK;
constexpr int kBlocksM = kThreadM / 4;
constexpr int kBlocksN = kThreadN / 4;
using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;

/// Where a thread's outputs are: block i of four rows begins at 4 * (i * kThreadsM + row), block j
/// of four columns at 4 * (j * kThreadsN + col). A warp is 4 x 8 threads, so that what it reads of
/// shared memory is at most 128 adjacent bytes.
struct Position {
  int row, col;
};

__device__ __forceinline__ Position position(int thread) {
  const int warp = thread / 32;
  const int lane = thread % 32;
  constexpr int kWarpsN = kThreadsN / 8;
  return {warp / kWarpsN * 4 + lane / 8, warp % kWarpsN * 8 + lane % 8};
}

template <int kRows, int kBlocks>
__device__ __forceinline__ void load_blocks(float (&x)[kBlocks * 4], const float* tile, int k,
                                            int at, int step) {
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const auto four =
        *reinterpret_cast<const float4*>(tile + float_tile_index<kRows>(k, 4 * (i * step + at)));
    x[4 * i] = four.x;
    x[4 * i + 1] = four.y;
    x[4 * i + 2] = four.z;
    x[4 * i + 3] = four.w;
  }
}

__device__ __forceinline__ void multiply_tile(float (&acc)[kThreadM][kThreadN], const float* a,
                                              const float* b, const Position& at) {
#pragma unroll kUnrolled
  for (int k = 0; k < kTileK; ++k) {
    float x[kThreadM], y[kThreadN];
    load_blocks<kTileM, kBlocksM>(x, a, k, at.row, kThreadsM);
    load_blocks<kTileN, kBlocksN>(y, b, k, at.col, kThreadsN);
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
    }
  }
}

__device__ __forceinline__ void store(const GemmParams& p, const Tile& tile, const Position& at,
                                      const float (&acc)[kThreadM][kThreadN]) {
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int row = tile.m * kTileM + 4 * (i / 4 * kThreadsM + at.row) + i % 4;
#pragma unroll
    for (int j = 0; j < kThreadN; j += 4) {
      const float x[4] = {acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]};
      Output::store(p, tile.batch, row, tile.n * kTileN + j * kThreadsN + 4 * at.col, x);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, kMinCtas)
    gemm_simt(const __grid_constant__ GemmParams p) {
  __shared__ __align__(16) float tile_a[2][kTileK * kTileM];
  __shared__ __align__(16) float tile_b[2][kTileK * kTileN];
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
  const int count = range.end - range.begin;
  if (count > 0) {
    a.fetch();
    b.fetch();
    a.put(tile_a[0]);
    b.put(tile_b[0]);
    __syncthreads();
  }
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const int now = i & 1;
    a.fetch();
    b.fetch();
    multiply_tile(acc, tile_a[now], tile_b[now], at);
    a.put(tile_a[now ^ 1]);
    b.put(tile_b[now ^ 1]);
    __syncthreads();
  }

  if (p.splits > 1 &&
      !reduce_splits<kThreads>(p, tile.linear, tile.split, thread,
                               reinterpret_cast<float(&)[kThreadM * kThreadN]>(acc), &arrival)) {
    return;
  }
  store(p, tile, at, acc);
}

}  // namespace gemwright_device
