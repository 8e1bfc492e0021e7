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
/// the high ones. Any other order costs a move a register. kRounds: elements are f32 still.
template <int kType, int kMajor, int kTileRows, int kTileK, int kRows, bool kIsA,
          bool kRounds = kType == kF32>
struct Fragments {
  using Tile = SharedTile<kType, kMajor, kTileRows, kTileK>;
  static constexpr int kSteps = kTileK / (32 / Tile::kSize);
  static constexpr int kBlocks = kRows / 16;
  static constexpr bool kOdd = kRows % 16 != 0;

  unsigned x[kBlocks + (kOdd ? 1 : 0)][4];

  /// Where a lane finds its part, from a tile's address on.
  struct Place {
    unsigned offset;
    int first_row, lane;
  };

  /// Of the fragments of rows from `first_row` on; steps count from `first_step`, a
  /// multiple of 4, or of 2 where there are no more than 2, or any where only step 0 is loaded.
  static __device__ __forceinline__ Place place(int first_row, int first_step, int lane) {
    const int r = lane >> 3;
    if constexpr (kMajor == kAlongK) {
      // Lane i gives the address of line i % 8 of the matrix for register i / 8.
      const int line = (high_of(r) << 3) + (lane & 7);
      const int chunk = 2 * first_step + half_of(r);
      return {first_row * Tile::kPitch + static_cast<unsigned>(Tile::offset(line, chunk)),
              first_row, lane};
    } else {
      const int k = first_step * (32 / Tile::kSize);
      return {static_cast<unsigned>(k * Tile::kPitch), first_row, lane};
    }
  }

  __device__ __forceinline__ void load(unsigned tile, const Place& place, int step) {
    if constexpr (Tile::kWordwise) {
      load_words(tile + place.offset, place, step);
    } else if constexpr (kMajor == kAlongK) {
      // Four steps are the 128 bytes within which chunks are swizzled: one XOR finds another step.
      const unsigned at = ((tile + place.offset) ^ ((step & 3) << 5)) + (step >> 2) * 128;
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) load_matrix(x[i], at + 16 * i * Tile::kPitch);
      if constexpr (kOdd) load_two_matrices(x[kBlocks], at + 16 * kBlocks * Tile::kPitch);
    } else {
      load_transposed(tile + place.offset + 16 * step * Tile::kPitch, place);
    }
    if constexpr (kRounds) {
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

  /// From lines along K; lanes from 16 on repeat others where two matrices are loaded.
  __device__ __forceinline__ void load_transposed(unsigned from, const Place& place) {
    const int r = place.lane >> 3;
    const int line = (half_of(r) << 3) + (place.lane & 7);
    const int chunk = place.first_row / 8;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      load_matrix_transposed(x[i], from + Tile::offset(line, chunk + 2 * i + high_of(r)));
    }
    if constexpr (kOdd) {
      load_two_matrices_transposed(x[kBlocks],
                                   from + Tile::offset(place.lane & 15, chunk + 2 * kBlocks));
    }
  }

  /// tf32 across K: word (k, row) with k = t or t + 4 and row = g.
  __device__ __forceinline__ void load_words(unsigned from, const Place& place, int step) {
    const int line = place.lane & 3;
    const int row = place.lane >> 2;
#pragma unroll
    for (int i = 0; i < kRows / 8; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int chunk = (place.first_row + 8 * i) / 4 + (row >> 2);
        const unsigned address =
            from + (8 * step + 4 * half) * Tile::kPitch + Tile::offset(line, chunk) + (row & 3) * 4;
        x[i / 2][kIsA ? 2 * half + i % 2 : 2 * (i % 2) + half] = load_shared(address);
      }
    }
  }
};

}  // namespace gemwright_device
