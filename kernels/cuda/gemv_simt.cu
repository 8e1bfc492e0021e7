// Few rows of A against a B whose columns are contiguous along K (a linear layer's weight): a CTA
// streams kCols columns once, each thread a part of K, and its partial sums meet at the end.
//
// The preamble gives: kTypeA, kTypeB, kVector (elements of K read at once, of A and B: more than 1
// needs K strides of 1, and K, the other strides and the bases to be multiples of it), kRows,
// kCols, kThreads, and of the epilogue kTypeD, kWidth (1), kHasC, kTypeC, kBias, kTypeBias.
#include "epilogue.cuh"
#include "scheduler.cuh"

namespace gemwright_device {

constexpr int kWarps = kThreads / 32;
constexpr int kOutputs = kRows * kCols;
using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;

/// kVector elements along K as fp32.
template <int kType>
__device__ __forceinline__ void load_vector(float (&x)[kVector], const Element<kType>* from) {
  if constexpr (kVector == 1) {
    x[0] = to_float<kType>(*from);
  } else {
    const auto words = load_global<kVector * sizeof(Element<kType>)>(from);
#pragma unroll
    for (int i = 0; i < kVector; ++i) x[i] = unpack<kType>(words, i);
  }
}

/// Adds this thread's share of K to the sums.
__device__ __forceinline__ void accumulate(const GemmParams& p, const Tile& tile, int thread,
                                           float (&acc)[kRows][kCols]) {
  const auto* a = static_cast<const Element<kTypeA>*>(p.a) + tile.batch * p.a_batch;
  const auto* b = static_cast<const Element<kTypeB>*>(p.b) + tile.batch * p.b_batch;
  // Rows and columns past the end repeat the last one; their sums are never stored.
#pragma unroll 2
  for (int k = thread * kVector; k < p.k; k += kThreads * kVector) {
    float y[kCols][kVector];
#pragma unroll
    for (int j = 0; j < kCols; ++j) {
      const int col = min(tile.n * kCols + j, p.n - 1);
      load_vector<kTypeB>(y[j], b + col * p.b_col + k * p.b_row);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = min(tile.m * kRows + i, p.m - 1);
      float x[kVector];
      load_vector<kTypeA>(x, a + row * p.a_row + k * p.a_col);
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
#pragma unroll
        for (int v = 0; v < kVector; ++v) acc[i][j] = fmaf(x[v], y[j][v], acc[i][j]);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    gemv_simt(const __grid_constant__ GemmParams p) {
  __shared__ float sums[kWarps][kOutputs];
  const int thread = threadIdx.x;
  const Tile tile = tile_at(blockIdx.x, tiles_of(p.m, kRows), tiles_of(p.n, kCols), p);
  float acc[kRows][kCols] = {};
  accumulate(p, tile, thread, acc);

#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) {
      float x = acc[i][j];
#pragma unroll
      for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffU, x, step);
      if (thread % 32 == 0) sums[thread / 32][i * kCols + j] = x;
    }
  }
  __syncthreads();
  if (thread < kOutputs) {
    float x[1] = {0};
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) x[0] += sums[warp][thread];
    Output::store(p, tile.batch, tile.m * kRows + thread / kCols, tile.n * kCols + thread % kCols,
                  x);
  }
}

}  // namespace gemwright_device
