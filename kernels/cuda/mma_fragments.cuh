// From a tile in shared memory to the registers of mma.sync. One step of K is 32 bytes: 16 elements
// of 16 bits, or 8 of tf32.
#pragma once

#include "ptx_mma.cuh"
#include "shared_tile.cuh"

namespace gemwright_device {

/// Rows that one matrix instruction takes of A (16) and of B (8), and registers of a fragment.
constexpr int kRowsA = 16;
constexpr int kRowsB = 8;

/// A warp's fragments of one operand: kRows rows from `first_row` on, for one step of K. With lane
/// = 4 * g + t, register r of rows 8 * i holds (row g, K pair t) of K half r.
template <int kType, int kMajor, int kTileRows, int kTileK, int kRows>
struct Fragments {
  using Tile = SharedTile<kType, kMajor, kTileRows, kTileK>;
  static constexpr int kPairs = kRows / 16;
  static constexpr bool kOdd = kRows % 16 != 0;
  static constexpr int kSteps = kTileK / (32 / Tile::kSize);

  /// Bytes from a tile's first step to another one (a multiple of 4 steps along K).
  static __device__ __forceinline__ unsigned step_offset(int step) {
    return step * (kMajor == kAlongK ? 32 : 32 / Tile::kSize * Tile::kPitch);
  }

  /// x[i][half]: 8 rows i, half of the step.
  unsigned x[kRows / 8][2];

  __device__ __forceinline__ void load(unsigned tile, int first_row, int step, int lane) {
    if constexpr (Tile::kWordwise) {
      load_words(tile, first_row, step, lane);
    } else {
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        load_pair(tile, first_row + 16 * pair, step, lane, x[2 * pair][0], x[2 * pair + 1][0],
                  x[2 * pair][1], x[2 * pair + 1][1]);
      }
      if constexpr (kOdd) {
        load_single(tile, first_row + 16 * kPairs, step, lane);
      }
      if constexpr (kType == kF32) {
#pragma unroll
        for (int i = 0; i < kRows / 8; ++i) {
          x[i][0] = to_tf32(x[i][0]);
          x[i][1] = to_tf32(x[i][1]);
        }
      }
    }
  }

 private:
  /// Rows 0-7 and 8-15, halves 0 and 1 of the step: four 8x8 matrices, in that order.
  static __device__ __forceinline__ void load_pair(unsigned tile, int row, int step, int lane,
                                                   unsigned& low0, unsigned& high0, unsigned& low1,
                                                   unsigned& high1) {
    unsigned r[4];
    if constexpr (kMajor == kAlongK) {
      const int line = lane & 15;
      const int chunk = 2 * step + (lane >> 4);
      load_matrix(r, tile + row * Tile::kPitch + Tile::offset(line, chunk));
    } else {
      const int line = ((lane >> 4) << 3) + (lane & 7);
      const int chunk = row / 8 + ((lane >> 3) & 1);
      load_matrix_transposed(r, tile + 16 * step * Tile::kPitch + Tile::offset(line, chunk));
    }
    low0 = r[0];
    high0 = r[1];
    low1 = r[2];
    high1 = r[3];
  }

  __device__ __forceinline__ void load_single(unsigned tile, int row, int step, int lane) {
    unsigned(&to)[2] = x[kRows / 8 - 1];
    if constexpr (kMajor == kAlongK) {
      const int chunk = 2 * step + ((lane >> 3) & 1);
      load_two_matrices(to, tile + row * Tile::kPitch + Tile::offset(lane & 7, chunk));
    } else {
      load_two_matrices_transposed(
          to, tile + 16 * step * Tile::kPitch + Tile::offset(lane & 15, row / 8));
    }
  }

  /// tf32 across K: word (k, row) with k = t or t + 4 and row = g.
  __device__ __forceinline__ void load_words(unsigned tile, int first_row, int step, int lane) {
    const int line = lane & 3;
    const int row = lane >> 2;
#pragma unroll
    for (int i = 0; i < kRows / 8; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int chunk = (first_row + 8 * i) / 4 + (row >> 2);
        const unsigned address =
            tile + (8 * step + 4 * half) * Tile::kPitch + Tile::offset(line, chunk) + (row & 3) * 4;
        x[i][half] = to_tf32(load_shared(address));
      }
    }
  }
};

}  // namespace gemwright_device
