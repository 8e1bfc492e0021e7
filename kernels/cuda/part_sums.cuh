// Sums of a K that CTAs of one cluster share, for tiles of few columns.
#pragma once

#include "ptx_hopper.cuh"

namespace gemwright_device {

/// Of a tile of Consumers x 64 rows and Columns columns. Units of 64 rows by 8 columns are dealt
/// out to the Split CTAs in turn: each sends its part of a unit to the unit's CTA, which adds the
/// parts in their order. (SplitExchange deals out columns, of which there must be 8 a CTA.)
template <int Consumers, int Columns, int Split>
struct PartSums {
  static constexpr int kEach = Columns / 8;  // units of a consumer
  static constexpr int kUnits = Consumers * kEach;
  static constexpr int kUnitBytes = 128 * 16;
  static constexpr int kBytes = (kUnits + Split - 1) / Split * (Split - 1) * kUnitBytes;

  char* buffer;     // kBytes, aligned to 16
  Barrier* landed;  // the others' parts are here
  int rank;         // in the cluster: the number of the part

  /// By one thread; a cluster barrier follows.
  __device__ __forceinline__ void init() const {
    const int units = (kUnits - rank + Split - 1) / Split;
    barrier_init(landed, 1);
    barrier_arrive_expect(landed, static_cast<unsigned>(units * (Split - 1) * kUnitBytes));
  }

  /// By all consumers, once, after the cluster barrier: calls store(column block, sum) for the
  /// units of this CTA.
  template <typename Store>
  __device__ __forceinline__ void run(const float (&acc)[Columns / 2], int consumer,
                                      Store store) const {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int unit = consumer * kEach + j;
      const int to = unit % Split;
      if (to == rank) continue;
      store_remote(remote_address(slot(unit, rank, to), to), acc + 4 * j,
                   remote_address(landed, to));
    }
    barrier_wait(landed, 0);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int unit = consumer * kEach + j;
      if (unit % Split != rank) continue;
      float sum[4] = {};
#pragma unroll
      for (int from = 0; from < Split; ++from) {
        float4 part = make_float4(acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3]);
        if (from != rank) part = *reinterpret_cast<const float4*>(slot(unit, from, rank));
        sum[0] += part.x;
        sum[1] += part.y;
        sum[2] += part.z;
        sum[3] += part.w;
      }
      store(j, sum);
    }
  }

 private:
  /// Where CTA `to` keeps what comes from `from`.
  __device__ __forceinline__ char* slot(int unit, int from, int to) const {
    const int index = unit / Split * (Split - 1) + (from < to ? from : from - 1);
    return buffer + (index * 128 + threadIdx.x % 128) * 16;
  }
};

/// Of a tile of 64 rows and Columns columns, whose K the Consumers of each of Split CTAs share:
/// part rank * Consumers + consumer. Units of 8 columns are dealt out to the CTAs in turn and there
/// to the consumers, which add the parts in their order.
template <int Consumers, int Columns, int Split>
struct JointSums {
  static constexpr int kUnits = Columns / 8;
  static constexpr int kParts = Split * Consumers;
  static constexpr int kUnitBytes = 128 * 16;
  static constexpr int kBytes = (kUnits + Split - 1) / Split * (kParts - 1) * kUnitBytes;

  char* buffer;     // kBytes, aligned to 16
  Barrier* landed;  // the others' parts are here
  int rank;         // in the cluster

  /// By one thread; a barrier of the cluster (of one CTA: of that) follows.
  __device__ __forceinline__ void init() const {
    const int units = (kUnits - rank + Split - 1) / Split;
    // Threads of this CTA arrive, what comes from others is counted in bytes.
    barrier_init(landed, 1 + units * (Consumers - 1) * 128);
    barrier_arrive_expect(landed,
                          static_cast<unsigned>(units * (Split - 1) * Consumers * kUnitBytes));
  }

  /// By all consumers, once: calls store(column block, sum) for the units of this one.
  template <typename Store>
  __device__ __forceinline__ void run(const float (&acc)[Columns / 2], int consumer,
                                      Store store) const {
    const int part = rank * Consumers + consumer;
#pragma unroll
    for (int j = 0; j < kUnits; ++j) {
      const int to = j % Split;
      if (part == owner(j)) continue;
      if (to == rank) {
        *reinterpret_cast<float4*>(slot(j, part)) =
            make_float4(acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3]);
        barrier_arrive(landed);
      } else {
        store_remote(remote_address(slot(j, part), to), acc + 4 * j, remote_address(landed, to));
      }
    }
#pragma unroll
    for (int j = 0; j < kUnits; ++j) {
      if (part != owner(j)) continue;
      barrier_wait(landed, 0);
      float sum[4] = {};
#pragma unroll
      for (int from = 0; from < kParts; ++from) {
        float4 v = make_float4(acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3]);
        if (from != part) v = *reinterpret_cast<const float4*>(slot(j, from));
        sum[0] += v.x;
        sum[1] += v.y;
        sum[2] += v.z;
        sum[3] += v.w;
      }
      store(j, sum);
    }
  }

 private:
  static __device__ __forceinline__ constexpr int owner(int unit) {
    return unit % Split * Consumers + unit / Split % Consumers;
  }
  /// Where the unit's owner keeps what comes from part `from`.
  __device__ __forceinline__ char* slot(int unit, int from) const {
    const int index = unit / Split * (kParts - 1) + (from < owner(unit) ? from : from - 1);
    return buffer + (index * 128 + threadIdx.x % 128) * 16;
  }
};

}  // namespace gemwright_device
