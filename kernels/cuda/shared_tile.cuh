// How an operand's tile lies in shared memory: lines of 16-byte chunks, swizzled so that neither
// the copies that fill it nor the loads of fragments meet bank conflicts.
#pragma once

#include "numeric.cuh"

namespace gemwright_device {

// Which dimension of an operand is contiguous. "Rows" are those of the output: M of A, N of B.
constexpr int kAlongK = 0;
constexpr int kAlongRows = 1;

template <int kType, int kMajor, int kRows, int kTileK>
struct SharedTile {
  static constexpr int kSize = sizeof(Element<kType>);
  static constexpr int kPerChunk = 16 / kSize;
  static constexpr int kLines = kMajor == kAlongK ? kRows : kTileK;
  static constexpr int kPitch = (kMajor == kAlongK ? kTileK : kRows) * kSize;
  static constexpr int kChunks = kPitch / 16;
  static constexpr int kBytes = kLines * kPitch;
  /// Fragments of 32-bit elements that lie across K are read word by word (ldmatrix transposes
  /// 16-bit elements only): four lines at once, where ldmatrix reads eight.
  static constexpr bool kWordwise = kType == kF32 && kMajor == kAlongRows;
  static_assert(kPitch % 16 == 0);

  /// What is XORed into the chunk number on a line, so that the lines that are read together spread
  /// over all 32 banks.
  static __device__ __forceinline__ int swizzle(int line) {
    if constexpr (kWordwise) {
      if constexpr (kPitch % 128 == 0) return (line & 3) << 1;
      if constexpr (kPitch % 64 == 0) return line & 2;
      return 0;
    } else {
      if constexpr (kPitch % 128 == 0) return line & 7;
      if constexpr (kPitch % 64 == 0) return (line >> 1) & 3;
      if constexpr (kPitch % 32 == 0) return (line >> 2) & 1;
      return 0;
    }
  }

  static __device__ __forceinline__ int offset(int line, int chunk) {
    return line * kPitch + ((chunk ^ swizzle(line)) << 4);
  }
};

}  // namespace gemwright_device
