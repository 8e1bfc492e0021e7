// Outputs of a CTA on the CUDA cores: where its threads' are, and the product of two tiles of
// floats in shared memory. kTileM, kTileN, kTileK, kThreadM, kThreadN and the epilogue's constants
// come from the preamble.
#pragma once

#include "epilogue.cuh"
#include "float_tile.cuh"
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
static_assert(kThreadsM % 8 == 0 && kThreadsN % 8 == 0 && kTileM % 32 == 0 && kTileN % 32 == 0);
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

/// Line k of a tile, of which this thread has blocks of four rows, `step` blocks apart, from
/// address `first` of line 0 on. The swizzle stays within 128 bytes, and so is one XOR for all
/// blocks.
template <int kRows, int kBlocks>
__device__ __forceinline__ void load_blocks(float (&x)[kBlocks * 4], unsigned first, int k,
                                            int step) {
  const unsigned line = (first ^ (4 * float_tile_swizzle(k))) + 4 * k * kRows;
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    float four[4];
    load_shared_floats(four, line + 16 * i * step);
#pragma unroll
    for (int j = 0; j < 4; ++j) x[4 * i + j] = four[j];
  }
}

__device__ __forceinline__ void multiply_tile(float (&acc)[kThreadM][kThreadN], unsigned a,
                                              unsigned b) {
#pragma unroll kUnrolled
  for (int k = 0; k < kTileK; ++k) {
    float x[kThreadM], y[kThreadN];
    load_blocks<kTileM, kBlocksM>(x, a, k, kThreadsM);
    load_blocks<kTileN, kBlocksN>(y, b, k, kThreadsN);
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
    }
  }
}

/// acc += A * B over `count` steps of K, double-buffered: loaders fetch a tile into registers, and
/// put it into shared memory, where tiles are aligned to 128 bytes.
template <typename LoaderA, typename LoaderB>
__device__ __forceinline__ void accumulate(float (&acc)[kThreadM][kThreadN], LoaderA& a, LoaderB& b,
                                           float (&tile_a)[2][kTileK * kTileM],
                                           float (&tile_b)[2][kTileK * kTileN], int count,
                                           const Position& at) {
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
    multiply_tile(acc, shared_address(tile_a[now]) + 16 * at.row,
                  shared_address(tile_b[now]) + 16 * at.col);
    a.put(tile_a[now ^ 1]);
    b.put(tile_b[now ^ 1]);
    __syncthreads();
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

}  // namespace gemwright_device
