// Split-K within one launch: every CTA leaves its fp32 partial in the workspace, and the last one
// to arrive sums them in the order of the splits, so that the result does not depend on who was
// last.
#pragma once

#include "params.cuh"
#include "ptx.cuh"

namespace gemwright_device {

/// Whether this CTA is the last of a tile's splits to arrive; what the others wrote before is then
/// seen. Called by all threads; `flag` is a word of shared memory, `tile` the same for every split.
__device__ __forceinline__ bool last_to_arrive(const GemmParams& p, int tile, int thread,
                                               unsigned* flag) {
  const auto last = static_cast<unsigned>(p.splits - 1);
  __syncthreads();
  if (thread == 0) *flag = count_arrival(p.counters + tile, last);
  __syncthreads();
  return *flag == last;
}

/// Workspace floats of one tile: kThreads * kValues a split.
///
/// `flag` is a word of shared memory. Returns true in the CTA that has the whole sum in `acc` and
/// goes on to the epilogue. Called by all threads, of which those up to kThreads hold values;
/// `tile` is the same for every split.
template <int kThreads, int kValues>
__device__ __forceinline__ bool reduce_splits(const GemmParams& p, int tile, int split, int thread,
                                              float (&acc)[kValues], unsigned* flag) {
  static_assert(kValues % 4 == 0);
  constexpr int kVectors = kValues / 4;
  constexpr int kChunk = kVectors < 8 ? kVectors : 8;
  constexpr int kAhead = 8 / kChunk;  // splits whose loads are in flight together
  static_assert(kVectors % kChunk == 0);
  auto* partials = static_cast<float4*>(p.workspace) +
                   static_cast<long long>(tile) * p.splits * kVectors * kThreads + thread;
  const long long pitch = kVectors * kThreads;
  const bool holds = thread < kThreads;
  if (holds) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      store_partial(partials + split * pitch + i * kThreads,
                    {acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]});
    }
  }
  if (!last_to_arrive(p, tile, thread, flag) || !holds) return false;

#pragma unroll
  for (int i = 0; i < kValues; ++i) acc[i] = 0;
  for (int first = 0; first < p.splits; first += kAhead) {
#pragma unroll
    for (int chunk = 0; chunk < kVectors; chunk += kChunk) {
      float4 part[kAhead][kChunk];
#pragma unroll
      for (int s = 0; s < kAhead; ++s) {
        const int from = min(first + s, p.splits - 1);  // loaded in vain past the last
#pragma unroll
        for (int i = 0; i < kChunk; ++i) {
          part[s][i] = load_partial(partials + from * pitch + (chunk + i) * kThreads);
        }
      }
#pragma unroll
      for (int s = 0; s < kAhead; ++s) {
        if (first + s < p.splits) {
#pragma unroll
          for (int i = 0; i < kChunk; ++i) {
            float* sum = acc + 4 * (chunk + i);
            sum[0] += part[s][i].x;
            sum[1] += part[s][i].y;
            sum[2] += part[s][i].z;
            sum[3] += part[s][i].w;
          }
        }
      }
    }
  }
  return true;
}

}  // namespace gemwright_device
