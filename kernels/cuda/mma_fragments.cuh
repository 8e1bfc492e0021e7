// From a tile in shared memory to the registers of mma.sync. One step of K is 32 bytes: 16 elements
// of 16 bits, or 8 of tf32.
#pragma once

#include "ptx_mma.cuh"
#include "shared_tile.cuh"

namespace gemwright_device {

/// Rows that one matrix instruction takes of A (16) and of B (8), and registers of a fragment.
constexpr int kRowsA = 16;
constexpr int kRowsB = 8;

/// A warp's fragments of one operand for one step of K: kRows rows from `first_row` on. Sixteen
/// rows have four registers, in the order in which one instruction wants them: low and high rows of
/// the first half of the step, then of the second (kIsA); or both halves of the low rows, then of
/// the high ones. Any other order costs a move a register.
template <int kType, int kMajor, int kTileRows, int kTileK, int kRows, bool kIsA>
struct Fragments {
  using Tile = SharedTile<kType, kMajor, kTileRows, kTileK>;
  static constexpr int kSteps = kTileK / (32 / Tile::kSize);
  static constexpr int kBlocks = kRows / 16;
  static constexpr bool kOdd = kRows % 16 != 0;

  unsigned x[kBlocks + (kOdd ? 1 : 0)][4];

  /// Bytes from a tile's first step to another one (a multiple of 4 steps along K).
  static __device__ __forceinline__ unsigned step_offset(int step) {
    return step * (kMajor == kAlongK ? 32 : 32 / Tile::kSize * Tile::kPitch);
  }

  __device__ __forceinline__ void load(unsigned tile, int first_row, int step, int lane) {
    if constexpr (Tile::kWordwise) {
      load_words(tile, first_row, step, lane);
    } else {
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) load_block(x[i], tile, first_row + 16 * i, step, lane);
      if constexpr (kOdd) load_half_block(tile, first_row + 16 * kBlocks, step, lane);
    }
    if constexpr (kType == kF32) {
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
        for (int r = 0; r < 4; ++r) x[i][r] = to_tf32(x[i][r]);
      }
      if constexpr (kOdd) {
        x[kBlocks][0] = to_tf32(x[kBlocks][0]);
        x[kBlocks][1] = to_tf32(x[kBlocks][1]);
      }
    }
  }

 private:
  /// Which half of the step, and which half of the rows, register r holds.
  static __device__ __forceinline__ int half_of(int r) {
    return kIsA ? r >> 1 : r & 1;
  }
  static __device__ __forceinline__ int high_of(int r) {
    return kIsA ? r & 1 : r >> 1;
  }

  /// Lane i gives the address of line i % 8 of the matrix for register i / 8.
  static __device__ __forceinline__ void load_block(unsigned (&to)[4], unsigned tile, int row,
                                                    int step, int lane) {
    const int r = lane >> 3;
    if constexpr (kMajor == kAlongK) {
      const int line = (high_of(r) << 3) + (lane & 7);
      load_matrix(to, tile + row * Tile::kPitch + Tile::offset(line, 2 * step + half_of(r)));
    } else {
      const int line = (half_of(r) << 3) + (lane & 7);
      load_matrix_transposed(
          to, tile + 16 * step * Tile::kPitch + Tile::offset(line, row / 8 + high_of(r)));
    }
  }

  __device__ __forceinline__ void load_half_block(unsigned tile, int row, int step, int lane) {
    unsigned to[2];
    if constexpr (kMajor == kAlongK) {
      const int chunk = 2 * step + ((lane >> 3) & 1);
      load_two_matrices(to, tile + row * Tile::kPitch + Tile::offset(lane & 7, chunk));
    } else {
      load_two_matrices_transposed(
          to, tile + 16 * step * Tile::kPitch + Tile::offset(lane & 15, row / 8));
    }
    x[kBlocks][0] = to[0];
    x[kBlocks][1] = to[1];
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
        x[i / 2][kIsA ? 2 * half + i % 2 : 2 * (i % 2) + half] = load_shared(address);
      }
    }
  }
};

}  // namespace gemwright_device
