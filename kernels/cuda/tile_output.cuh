// From the accumulators of mma.sync to D, by way of shared memory: rows are stored whole, and what
// scales, adds and stores is one short loop, which compiles in the same time for every tile.
#pragma once

#include "params.cuh"
#include "ptx.cuh"
#include "reduce.cuh"
#include "scheduler.cuh"

namespace gemwright_device {

/// A tile of kTileM x kTileN by kThreads threads. Product is what holds the accumulators (see
/// MmaMainloop), Output the epilogue that stores kWidth columns at once. kParts: warps that each
/// have a part of every sum. Without kSplits no other CTA has a part of the tile's K, and what
/// would sum over them, a fifth of the kernel, is left out.
template <typename Product, typename Output, int kTileM, int kTileN, int kWidth, bool kSplits>
class TileOutput {
  static constexpr int kThreads = Product::kThreads;
  static constexpr int kParts = Product::kPartsOfK;
  // Eight rows that are written together lie 8 banks apart.
  static constexpr int kPitch = kTileN + (kTileN % 16 == 0 ? 8 : 0);
  // Blocks of 16 rows of every warp that fit into shared memory at once.
  static constexpr int kBlockBytes = kParts * Product::kTileWarpsM * kRowsA * kPitch * 4;
  static constexpr int kFit = Product::kSharedBytes / kBlockBytes;
  static constexpr int kBlocks = largest_divisor(Product::kBlocksM, kFit);
  static constexpr int kRows = Product::kTileWarpsM * kBlocks * kRowsA;  // staged at once
  static_assert(kFit >= 1);
  // Partial sums are exchanged 16 bytes at a time.
  static constexpr int kWide = kWidth < 4 ? 4 : kWidth;

 public:
  /// All threads; shared memory at `shared` is free, and `flag` is a word of it beside that.
  static __device__ __forceinline__ void store(const GemmParams& p, const Tile& tile,
                                               Product& product, unsigned shared, int thread,
                                               unsigned* flag) {
    const bool split = kSplits && p.splits > 1;
    float* partials = static_cast<float*>(p.workspace);
    if (split) {
      partials += (static_cast<long long>(tile.linear) * p.splits + tile.split) * kTileM * kTileN;
    }
    // Where columns of D are not adjacent its rows may be: lanes then run down them.
    const bool down = kWidth == 1 && p.d_col != 1;
#pragma unroll 1  // one copy of the code: accumulators move
    for (int first = 0; first < Product::kBlocksM; first += kBlocks) {
      __syncthreads();
      stage(product, shared, thread);
      move_up(product);
      __syncthreads();
      if (split) {
        leave_partials(partials, shared, first, thread);
      } else if (down) {
        store_staged<kWide>(p, tile, shared, first, true, thread);
      } else {
        store_staged<kWidth>(p, tile, shared, first, false, thread);
      }
    }
    if (!split || !last_to_arrive(p, tile.linear, thread, flag)) return;
    store_sums(p, tile, partials - tile.split * kTileM * kTileN, down, thread);
  }

 private:
  struct Place {
    int row, col;
    __device__ __forceinline__ int offset() const { return row * kTileN + col; }
  };

  /// Vector number `i` of `rows` rows: along the rows, or down the columns.
  template <int kVector>
  static __device__ __forceinline__ Place place(int i, int rows, bool down) {
    constexpr int kColumns = kTileN / kVector;
    return down ? Place{i % rows, i / rows * kVector} : Place{i / kColumns, i % kColumns * kVector};
  }

  static __device__ __forceinline__ void leave_partials(float* to, unsigned shared, int first,
                                                        int thread) {
#pragma unroll 2
    for (int i = thread; i < kRows * kTileN / 4; i += kThreads) {
      Place at = place<4>(i, kRows, false);
      float x[4];
      load_sums(x, shared, at);
      at.row = tile_row(at.row, first);
      store_partial(reinterpret_cast<float4*>(to + at.offset()), {x[0], x[1], x[2], x[3]});
    }
  }

  template <int kVector>
  static __device__ __forceinline__ void store_staged(const GemmParams& p, const Tile& tile,
                                                      unsigned shared, int first, bool down,
                                                      int thread) {
#pragma unroll 2
    for (int i = thread; i < kRows * kTileN / kVector; i += kThreads) {
      const Place at = place<kVector>(i, kRows, down);
      float x[kVector];
      load_sums(x, shared, at);
      Output::store(p, tile.batch, tile.m * kTileM + tile_row(at.row, first),
                    tile.n * kTileN + at.col, x);
    }
  }

  /// The sums over all splits, in their order, from the workspace. What is in flight hides the way
  /// to the L2 cache: a few vectors of two splits a thread.
  static __device__ __forceinline__ void store_sums(const GemmParams& p, const Tile& tile,
                                                    const float* partials, bool down, int thread) {
    constexpr int kCount = kTileM * kTileN / kWide;
    constexpr int kTogether = kCount >= 4 * kThreads ? 4 : kCount >= 2 * kThreads ? 2 : 1;
#pragma unroll 1
    for (int i = thread; i < kCount; i += kTogether * kThreads) {
      float sum[kTogether][kWide], x[kTogether][kWide], y[kTogether][kWide];
      const auto at = [&](int u) {
        return place<kWide>(min(i + u * kThreads, kCount - 1), kTileM, down);
      };
#pragma unroll 1
      for (int split = 0; split < p.splits; split += 2) {
        const float* from = partials + static_cast<long long>(split) * kTileM * kTileN;
        const bool two = split + 1 < p.splits;
#pragma unroll
        for (int u = 0; u < kTogether; ++u) load_partials(x[u], from + at(u).offset());
        if (two) {
#pragma unroll
          for (int u = 0; u < kTogether; ++u) {
            load_partials(y[u], from + kTileM * kTileN + at(u).offset());
          }
        }
#pragma unroll
        for (int u = 0; u < kTogether; ++u) {
#pragma unroll
          for (int v = 0; v < kWide; ++v) {
            sum[u][v] = split == 0 ? x[u][v] : sum[u][v] + x[u][v];
            if (two) sum[u][v] += y[u][v];
          }
        }
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        if (i + u * kThreads >= kCount) break;
        const Place to = at(u);
        Output::store(p, tile.batch, tile.m * kTileM + to.row, tile.n * kTileN + to.col, sum[u]);
      }
    }
  }

  /// Row of the tile that is staged in `row` while blocks from `first` on are.
  static __device__ __forceinline__ int tile_row(int row, int first) {
    constexpr int kEach = kBlocks * kRowsA;  // rows of one warp
    return row / kEach * Product::kWarpM + row % kEach + first * kRowsA;
  }

  /// The first blocks of rows make way for the next.
  static __device__ __forceinline__ void move_up(Product& product) {
#pragma unroll
    for (int i = kBlocks; i < Product::kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < Product::kBlocksN; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) product.acc[i - kBlocks][j][r] = product.acc[i][j][r];
      }
    }
  }

  static __device__ __forceinline__ void stage(const Product& product, unsigned shared,
                                               int thread) {
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int part = warp / Product::kTileWarps;
    const int row = warp % Product::kTileWarpsM * kBlocks * kRowsA + lane / 4;
    const int col =
        warp / Product::kTileWarpsM % Product::kTileWarpsN * Product::kWarpN + lane % 4 * 2;
    const unsigned to = shared + ((part * kRows + row) * kPitch + col) * 4;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < Product::kBlocksN; ++j) {
        const float(&x)[4] = product.acc[i][j];
        const unsigned at = to + (i * kRowsA * kPitch + j * kRowsB) * 4;
        store_shared(at, x[0], x[1]);
        store_shared(at + 8 * kPitch * 4, x[2], x[3]);
      }
    }
  }

  /// The parts of K come together in order.
  template <int kVector>
  static __device__ __forceinline__ void load_sums(float (&x)[kVector], unsigned shared,
                                                   const Place& at) {
    load_shared_floats(x, shared + (at.row * kPitch + at.col) * 4);
#pragma unroll
    for (int part = 1; part < kParts; ++part) {
      float y[kVector];
      load_shared_floats(y, shared + ((part * kRows + at.row) * kPitch + at.col) * 4);
#pragma unroll
      for (int i = 0; i < kVector; ++i) x[i] += y[i];
    }
  }

  template <int kVector>
  static __device__ __forceinline__ void load_partials(float (&x)[kVector], const float* from) {
#pragma unroll
    for (int i = 0; i < kVector; i += 4) {
      const float4 four = load_partial(reinterpret_cast<const float4*>(from + i));
      x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
    }
  }
};

}  // namespace gemwright_device
