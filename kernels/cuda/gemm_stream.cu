// GEMM with few rows of A (up to 16): weights stream from memory into the fragments of mma.sync,
// K is shared by the warps of a CTA and, on sm_90, by the CTAs of a cluster. sm_80 and newer.
//
// `early`: the weights are not written by the kernel before, so that their first loads need not
// wait for its end when this one is launched as its dependent.
//
// The preamble gives: kType (of A and B; kF32 is computed as tf32), kWeightsAlongRows (B's rows of
// N are contiguous, else its columns of K), kWeightBlocks (of 16 weight rows), kActivationBlocks
// (of 8 rows of A), kUnroll (steps of K in flight), kWarps, kSplit (CTAs of a cluster that share
// K), kCtas (resident a multiprocessor), kHopper, and of the epilogue kTypeD, kWidth, kHasC,
// kTypeC, kBias, kTypeBias.
#include "epilogue.cuh"
#include "mainloop_stream.cuh"
#include "ptx_hopper.cuh"
#include "scheduler.cuh"

namespace gemwright_device {

template <bool kAlongRows>
struct WeightsOf {
  using Type = WeightsAlongK<kType, kWeightBlocks>;
};
template <>
struct WeightsOf<true> {
  using Type = WeightsAlongRows<kType>;
};

using Weights = WeightsOf<kWeightsAlongRows>::Type;
using Mainloop = StreamMainloop<kType, Weights, kWeightBlocks, kActivationBlocks, kUnroll>;
using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;

constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 16 * kWeightBlocks;  // of weights: columns of D
constexpr int kCols = 8 * kActivationBlocks;
constexpr int kPitch = kRows + 4;  // a warp's stores fall into different banks
static_assert(!kWeightsAlongRows || kWeightBlocks == 4);

/// One float into another CTA's shared memory; a cluster barrier makes it visible.
__device__ __forceinline__ void put_remote(unsigned address, float x) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}

/// Sum over the warps, in their order.
__device__ __forceinline__ float sum_warps(const float (&partial)[kWarps][kCols * kPitch], int m,
                                           int n) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += partial[i][m * kPitch + n];
  return sum;
}

__device__ __forceinline__ void store_partial_sums(float (&partial)[kCols * kPitch],
                                                   const Mainloop& product, int g, int t) {
#pragma unroll
  for (int r = 0; r < kWeightBlocks; ++r) {
#pragma unroll
    for (int c = 0; c < kActivationBlocks; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        partial[(8 * c + 2 * t + i % 2) * kPitch + Weights::row_of(r, i / 2, g)] =
            product.acc[r][c][i];
      }
    }
  }
}

/// Calls f(m, n) for the tile's elements of D, dealt to the threads.
template <class F>
__device__ __forceinline__ void each_element(int rows_of_a, F f) {
  for (int i = threadIdx.x; i < kRows * rows_of_a; i += kThreads) f(i / kRows, i % kRows);
}

extern "C" __global__ void __launch_bounds__(kThreads, kCtas)
    gemm_stream(const __grid_constant__ GemmParams p, const int early) {
  __shared__ float partial[kWarps][kCols * kPitch];
  __shared__ float gathered[kSplit][kCols * kRows];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int g = lane / 4;
  const int t = lane % 4;
  const int rank = kSplit > 1 ? static_cast<int>(cluster_rank()) : 0;
  if constexpr (kSplit > 1) cluster_arrive_relaxed();
  int tile = static_cast<int>(blockIdx.x) / kSplit;
  int batch = 0;
  if (p.batch > 1) {  // the division takes a tenth of a microsecond
    const int tiles = tiles_of(p.n, kRows);
    batch = tile / tiles;
    tile -= batch * tiles;
  }
  const int first = tile * kRows;

  const int chunk = rank * kWarps + warp;
  const int k = chunk * Mainloop::kChunk;
  Weights weights(p, batch, first, k, g, t);
  Mainloop product;
  if (early) product.start(weights, chunk, p.k);
  if constexpr (kHopper) {
    wait_for_previous_kernel();
    launch_next_kernel();
  }
  if (!early) product.start(weights, chunk, p.k);
  Mainloop::Inputs inputs(p, batch, k, g, t);
  product.run(weights, inputs, chunk, kWarps * kSplit, p.k, t);

  store_partial_sums(partial[warp], product, g, t);
  __syncthreads();
  const auto store = [&](int m, int n, float sum) {
    const float x[1] = {sum};
    if (first + n < p.n) Output::store(p, batch, m, first + n, x);
  };
  if constexpr (kSplit == 1) {
    each_element(p.m, [&](int m, int n) { store(m, n, sum_warps(partial, m, n)); });
  } else {
    cluster_wait();  // the first CTA of the cluster has begun
    each_element(p.m, [&](int m, int n) {
      put_remote(remote_address(&gathered[rank][m * kRows + n], 0), sum_warps(partial, m, n));
    });
    cluster_arrive();
    cluster_wait();
    if (rank != 0) return;
    each_element(p.m, [&](int m, int n) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kSplit; ++i) sum += gathered[i][m * kRows + n];
      store(m, n, sum);
    });
  }
}

}  // namespace gemwright_device
