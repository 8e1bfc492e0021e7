// Sums of a K that CTAs of one cluster share, through distributed shared memory.
#pragma once

#include "mainloop_wgmma.cuh"

namespace gemwright_device {

/// Of a tile whose consumers hold Blocks x 64 rows and Columns columns each: every one of the Split
/// CTAs sends each of the others the columns that those will store, into a buffer kept for that,
/// and adds what it gets in the order of the parts. (The ring would do as a buffer, but the others'
/// may not be drained yet: asking takes 600 clocks.)
template <int Consumers, int Blocks, int Columns, int Split, int ClusterM, int ClusterN>
struct SplitExchange {
  static constexpr int kEach =
      Columns / Split / 8;  // vectors of four that a thread stores, a block
  static constexpr bool kMulticast = ClusterM * ClusterN > 1;

  char* buffer;     // kBytes, aligned to 16
  Barrier* landed;  // the others' sums are here

  /// Bytes that arrive.
  static constexpr int kBytes = (Split - 1) * Consumers * Blocks * 64 * (Columns / Split) * 4;

  __device__ __forceinline__ void init() const {
    barrier_init(landed, 1);
    barrier_arrive_expect(landed, kBytes);
  }

  /// Called by all consumers, once; `sum` gets the columns of this CTA.
  __device__ __forceinline__ void run(const float (&acc)[Blocks][Columns / 2], int consumer,
                                      const ClusterPlace& place,
                                      float (&sum)[Blocks][Columns / Split / 2]) const {
    if constexpr (!kMulticast) cluster_wait();  // for the others' barriers to be initialised
    send(acc, consumer, place);
    barrier_wait(landed, 0);
    add(acc, consumer, place, sum);
  }

 private:
  static __device__ __forceinline__ unsigned rank(const ClusterPlace& place, int split) {
    return static_cast<unsigned>(place.m + (place.n + split * ClusterN) * ClusterM);
  }

  /// Where CTA `to` keeps what comes from `from`.
  __device__ __forceinline__ char* slot(int from, int to, int consumer, int block, int j) const {
    const int index = from < to ? from : from - 1;
    const int vector = ((index * Consumers + consumer) * Blocks + block) * kEach + j;
    return buffer + (vector * 128 + threadIdx.x % 128) * sizeof(float4);
  }

  __device__ __forceinline__ void send(const float (&acc)[Blocks][Columns / 2], int consumer,
                                       const ClusterPlace& place) const {
#pragma unroll
    for (int to = 0; to < Split; ++to) {
      if (to == place.split) continue;
      const unsigned barrier = remote_address(landed, rank(place, to));
#pragma unroll
      for (int i = 0; i < Blocks; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          store_remote(remote_address(slot(place.split, to, consumer, i, j), rank(place, to)),
                       acc[i] + 4 * (to * kEach + j), barrier);
        }
      }
    }
  }

  __device__ __forceinline__ void add(const float (&acc)[Blocks][Columns / 2], int consumer,
                                      const ClusterPlace& place,
                                      float (&sum)[Blocks][Columns / Split / 2]) const {
#pragma unroll
    for (int i = 0; i < Blocks; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
#pragma unroll
        for (int from = 0; from < Split; ++from) {
          const bool own = from == place.split;
          float4 part;
          if (!own)
            part = *reinterpret_cast<const float4*>(slot(from, place.split, consumer, i, j));
          const float* v = acc[i] + 4 * (from * kEach + j);
          const float w[4] = {own ? v[0] : part.x, own ? v[1] : part.y, own ? v[2] : part.z,
                              own ? v[3] : part.w};
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            sum[i][4 * j + e] = from == 0 ? w[e] : sum[i][4 * j + e] + w[e];
          }
        }
      }
    }
  }
};

}  // namespace gemwright_device
