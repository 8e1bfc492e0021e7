// Few rows of A against a B whose columns are contiguous along K (a linear layer's weight): a CTA
// streams kCols columns once, each thread a part of K, and its partial sums meet at the end. CTAs
// are small and come in numbers: while some begin or end, others read.
//
// The preamble gives: kTypeA, kTypeB, kVector (elements of K read at once, of A and B: more than 1
// needs K strides of 1, and K, the other strides and the bases to be multiples of it), kRows,
// kCols, kThreads, kUnroll (vectors of a column that a thread asks for at once), and of the
// epilogue kTypeD, kWidth (1), kHasC, kTypeC, kBias, kTypeBias.
#include "epilogue.cuh"
#include "scheduler.cuh"

namespace gemwright_device {

constexpr int kWarps = kThreads / 32;
constexpr int kOutputs = kRows * kCols;
constexpr int kStep = kThreads * kVector;  // of K, that the CTA reads at once
using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;

/// kVector elements along K as they lie in memory; a lone one as its value.
template <int kType>
struct Vector {
  static constexpr int kBytes = kVector * static_cast<int>(sizeof(Element<kType>));
  static constexpr int kHeld = kBytes > 4 ? kBytes : 4;
  Words<kHeld> words;

  __device__ __forceinline__ void load(const Element<kType>* from, bool once) {
    if constexpr (kVector == 1) {
      words.w[0] = __float_as_uint(to_float<kType>(*from));
    } else if constexpr (kBytes == 16) {
      words = once ? load_once(from) : load_global<16>(from);
    } else {
      words = load_global<kBytes>(from);
    }
  }
  __device__ __forceinline__ float operator[](int i) const {
    if constexpr (kVector == 1) return __uint_as_float(words.w[0]);
    return unpack<kType>(words, i);
  }
};

/// From an element to the next one along K.
__device__ __forceinline__ long long step_along_k(long long stride) {
  return kVector > 1 ? 1 : stride;
}

struct Inputs {
  const Element<kTypeA>* a[kRows];
  const Element<kTypeB>* b[kCols];

  /// At this thread's first vector. Rows and columns past the end repeat the last one; their sums
  /// are never stored.
  __device__ __forceinline__ Inputs(const GemmParams& p, const Tile& tile, int thread) {
    const int k = thread * kVector;
    const auto* a0 = static_cast<const Element<kTypeA>*>(p.a) + k * step_along_k(p.a_col);
    const auto* b0 = static_cast<const Element<kTypeB>*>(p.b) + k * step_along_k(p.b_row);
    if (tile.batch > 0) {
      a0 += tile.batch * p.a_batch;
      b0 += tile.batch * p.b_batch;
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) a[i] = a0 + min(tile.m * kRows + i, p.m - 1) * p.a_row;
#pragma unroll
    for (int j = 0; j < kCols; ++j) b[j] = b0 + min(tile.n * kCols + j, p.n - 1) * p.b_col;
  }
};

/// Adds `Count` vectors of every row and column, the first `k` after where the inputs stand. All of
/// B is asked for first: it comes from memory, A from L1.
template <int Count>
__device__ __forceinline__ void accumulate(const GemmParams& p, const Inputs& in, int k,
                                           float (&acc)[kRows][kCols]) {
  Vector<kTypeB> y[Count][kCols];
#pragma unroll
  for (int u = 0; u < Count; ++u) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) {
      y[u][j].load(in.b[j] + (k + u * kStep) * step_along_k(p.b_row), true);
    }
  }
#pragma unroll
  for (int u = 0; u < Count; ++u) {
    Vector<kTypeA> x[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      x[i].load(in.a[i] + (k + u * kStep) * step_along_k(p.a_col), false);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
#pragma unroll
        for (int v = 0; v < kVector; ++v) acc[i][j] = fmaf(x[i][v], y[u][j][v], acc[i][j]);
      }
    }
  }
}

/// The divisions of tile_at take 0.3 us, which is much here.
__device__ __forceinline__ Tile tile_of(const GemmParams& p) {
  if (p.batch == 1 && p.m <= kRows) [[likely]] {
    return {0, static_cast<int>(blockIdx.x), 0, 0, 0};
  }
  return tile_at(blockIdx.x, tiles_of(p.m, kRows), tiles_of(p.n, kCols), p);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    gemv_simt(const __grid_constant__ GemmParams p) {
  __shared__ float sums[kWarps][kOutputs];
  const int thread = threadIdx.x;
  const Tile tile = tile_of(p);
  const Inputs in(p, tile, thread);
  float acc[kRows][kCols] = {};
  const int left = p.k - thread * kVector;
  int k = 0;
#pragma unroll 1
  for (; k + (kUnroll - 1) * kStep < left; k += kUnroll * kStep) accumulate<kUnroll>(p, in, k, acc);
#pragma unroll 1
  for (; k < left; k += kStep) accumulate<1>(p, in, k, acc);

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
