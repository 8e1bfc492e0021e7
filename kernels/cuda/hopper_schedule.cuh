// What a cluster of the Hopper GEMM works on: whole tiles and, with stream-K, parts of tiles.
#pragma once

#include "hopper_params.cuh"
#include "mainloop_wgmma.cuh"

namespace gemwright_device {

struct HopperTile {
  int m, n, batch;  // m and n in tiles of a whole cluster
};

__device__ __forceinline__ int divide(int x, Divisor by) {
  return static_cast<int>(
      (static_cast<unsigned long long>(static_cast<unsigned>(x)) * by.multiplier) >> by.shift);
}

/// Tile number `index`, or that of the CTA's cluster (number `cluster` along x) in one wave: groups
/// of `group` rows (or columns) of tiles, run through across the group first, so that the CTAs at
/// work share both operands in L2.
__device__ __forceinline__ HopperTile hopper_tile_at(int index, int cluster,
                                                     const HopperParams& p) {
  if (p.one_wave) {
    const int y = static_cast<int>(blockIdx.y);
    const int z = static_cast<int>(blockIdx.z);
    return p.along_n ? HopperTile{y, cluster, z} : HopperTile{cluster, y, z};
  }
  int batch = 0;
  int rest = index;
  if (p.gemm.batch > 1) {
    batch = divide(index, p.by_tiles);
    rest -= batch * (p.tiles_m * p.tiles_n);
  }
  const int across = p.along_n ? p.tiles_n : p.tiles_m;
  const int down = p.along_n ? p.tiles_m : p.tiles_n;
  const int group = divide(rest, p.by_group);
  const int first = group * p.gemm.group;
  const bool last = group == p.last_group;
  const int size = last ? across - first : p.gemm.group;
  const int inside = rest - first * down;
  const int i = divide(inside, last ? p.by_last_size : p.by_size);
  const int j = first + inside - i * size;
  return p.along_n ? HopperTile{i, j, batch} : HopperTile{j, i, batch};
}

/// k-blocks [first, last) of a tile.
struct Segment {
  int tile;
  int first, last;
  bool head;  // the first of the cluster's stream-K share
};

/// The segments of one cluster, in order; the same for all of its threads. The k-blocks of the
/// first `streamed` tiles are dealt out evenly, `share` to a cluster, then come whole tiles.
template <bool kStreamK>
struct Segments {
  int tile, tiles, step;
  int first, last;  // k-blocks of a whole tile (or of this CTA's part of it)
  int at, begin, end;

  __device__ __forceinline__ Segments(const HopperParams& p, int cluster, int first_, int last_)
      : tile(cluster), tiles(p.tiles), step(p.step), first(first_), last(last_) {
    if constexpr (kStreamK) {
      tile += p.streamed;
      at = begin = cluster * p.share;
      end = min(begin + p.share, p.streamed * last_);
    }
  }

  __device__ __forceinline__ bool next(Segment& s) {
    if constexpr (kStreamK) {
      if (at < end) {
        s.tile = at / last;
        s.first = at - s.tile * last;
        s.last = min(last, s.first + end - at);
        s.head = at == begin;
        at += s.last - s.first;
        return true;
      }
    }
    if (tile >= tiles) return false;
    s = {tile, first, last, false};
    tile += step;
    return true;
  }
};

/// Sums a tile whose k-blocks were dealt to several clusters. Each leaves its part in the
/// workspace; the last to arrive adds them in the order of the clusters and returns true, the
/// others false. Called by one warpgroup; `part` is the number of its rows (of Parts) in the whole
/// cluster's tile, `id` a barrier of its 128 threads, `flag` a word of shared memory of its own.
template <int Parts, int Blocks, int Registers>
__device__ __forceinline__ bool combine(const HopperParams& p, const Segment& s, int cluster,
                                        int blocks, int part, int id, unsigned* flag,
                                        float (&acc)[Blocks][Registers]) {
  constexpr int kVectors = Registers / 4;
  constexpr int kChunk = kVectors % 8 == 0 ? 8 : kVectors % 4 == 0 ? 4 : 2;
  static_assert(kVectors % kChunk == 0);
  const int thread = threadIdx.x % 128;
  const auto slot = [&](int from, bool head) {
    const long long unit = (from * 2 + (head ? 0 : 1)) * static_cast<long long>(Parts) + part;
    return static_cast<float4*>(p.gemm.workspace) + unit * (Blocks * kVectors * 128) + thread;
  };
  float4* mine = slot(cluster, s.head);
#pragma unroll
  for (int i = 0; i < Blocks; ++i) {
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
      const float* v = acc[i] + 4 * j;
      store_partial(mine + (i * kVectors + j) * 128, make_float4(v[0], v[1], v[2], v[3]));
    }
  }
  const int tile_begin = s.tile * blocks;
  const int from = tile_begin / p.share;
  const int to = (tile_begin + blocks - 1) / p.share;
  named_barrier(id, 128);
  if (thread == 0) *flag = count_arrival(p.gemm.counters + s.tile * Parts + part, to - from);
  named_barrier(id, 128);
  if (*flag != static_cast<unsigned>(to - from)) return false;

#pragma unroll
  for (int i = 0; i < Blocks; ++i) {
#pragma unroll
    for (int j = 0; j < Registers; ++j) acc[i][j] = 0.0F;
  }
  for (int c = from; c <= to; ++c) {
    const float4* theirs = slot(c, c * p.share >= tile_begin);
#pragma unroll
    for (int i = 0; i < Blocks; ++i) {
#pragma unroll
      for (int chunk = 0; chunk < kVectors; chunk += kChunk) {
        float4 v[kChunk];
#pragma unroll
        for (int j = 0; j < kChunk; ++j) {
          v[j] = load_partial(theirs + (i * kVectors + chunk + j) * 128);
        }
#pragma unroll
        for (int j = 0; j < kChunk; ++j) {
          float* sum = acc[i] + 4 * (chunk + j);
          sum[0] += v[j].x;
          sum[1] += v[j].y;
          sum[2] += v[j].z;
          sum[3] += v[j].w;
        }
      }
    }
  }
  return true;
}

}  // namespace gemwright_device
