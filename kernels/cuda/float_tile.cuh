// Tiles of fp32 in shared memory for CUDA-core kernels: line k holds the tile's rows side by side,
// whatever type, strides and layout the operand has in memory.
#pragma once

#include "ptx.cuh"
#include "shared_tile.cuh"
#include "tile_loader.cuh"

namespace gemwright_device {

/// What is XORed into rows on line k: multiples of 4 below 32, so that four adjacent rows stay
/// together and stores that run along K spread over the banks.
__device__ __forceinline__ int float_tile_swizzle(int k) {
  return (((k >> 2) & 3) << 3) ^ ((k & 1) << 2);
}

/// Where (k, row) lies in a tile of kRows.
template <int kRows>
__device__ __forceinline__ int float_tile_index(int k, int row) {
  static_assert(kRows % 32 == 0);
  return k * kRows + (row ^ float_tile_swizzle(k));
}

/// Fetches tiles through registers and converts them. kVector elements of the major dimension are
/// read at once: more than 1 needs its stride to be 1, and its size, the other strides and the base
/// to be multiples of kVector.
template <int kType, int kMajor, int kVector, int kRows, int kTileK, int kThreads>
class FloatTileLoader {
  static constexpr int kSize = sizeof(Element<kType>);
  static constexpr int kLines = kMajor == kAlongK ? kRows : kTileK;
  static constexpr int kChunks = (kMajor == kAlongK ? kTileK : kRows) / kVector;  // of a line
  static constexpr int kLineStep = kThreads / kChunks;
  static constexpr int kCopies = (kLines + kLineStep - 1) / kLineStep;
  static_assert(kThreads % kChunks == 0);

 public:
  __device__ __forceinline__ FloatTileLoader(const OperandView& x, int first_row, int first_k,
                                             int thread) {
    const bool along_k = kMajor == kAlongK;
    line_ = thread / kChunks;
    element_ = thread % kChunks * kVector;
    const long long line_stride = along_k ? x.row_stride : x.k_stride;
    const long long element_stride = kVector > 1 ? 1 : along_k ? x.k_stride : x.row_stride;
    const long long first_line = (along_k ? first_row : first_k) + line_;
    const long long first_element = (along_k ? first_k : first_row) + element_;
    line_step_ = line_stride * kLineStep * kSize;
    advance_ = (along_k ? element_stride : x.k_stride) * kTileK * kSize;
    lines_left_ = static_cast<int>((along_k ? x.rows : x.k) - first_line);
    elements_left_ = static_cast<int>((along_k ? x.k : x.rows) - first_element);
    from_ = static_cast<const char*>(x.base) +
            (first_line * line_stride + first_element * element_stride) * kSize;
  }

  /// Loads the next tile into registers; what lies outside of the operand is zero.
  __device__ __forceinline__ void fetch() {
    const char* from = from_;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const bool valid = elements_left_ > 0 && i * kLineStep < lines_left_;
      if constexpr (kVector == 1) {
        const auto* element = reinterpret_cast<const Element<kType>*>(from);
        values_[i][0] = valid ? to_float<kType>(*element) : 0.0F;
      } else {
        Words<kVector * kSize> words{};
        if (valid) words = load_global<kVector * kSize>(from);
#pragma unroll
        for (int j = 0; j < kVector; ++j) values_[i][j] = unpack<kType>(words, j);
      }
      from += line_step_;
    }
    from_ += advance_;
    (kMajor == kAlongK ? elements_left_ : lines_left_) -= kTileK;
  }

  /// Stores what was fetched.
  __device__ __forceinline__ void put(float* tile) const {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int line = line_ + i * kLineStep;
      if (kLines % kLineStep != 0 && line >= kLines) continue;
      if constexpr (kMajor == kAlongRows && kVector % 4 == 0) {
#pragma unroll
        for (int j = 0; j < kVector; j += 4) {
          *reinterpret_cast<float4*>(tile + float_tile_index<kRows>(line, element_ + j)) = {
              values_[i][j], values_[i][j + 1], values_[i][j + 2], values_[i][j + 3]};
        }
      } else {
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          const int k = kMajor == kAlongK ? element_ + j : line;
          const int row = kMajor == kAlongK ? line : element_ + j;
          tile[float_tile_index<kRows>(k, row)] = values_[i][j];
        }
      }
    }
  }

 private:
  const char* from_;
  long long line_step_, advance_;
  int line_, element_;
  int lines_left_, elements_left_;
  float values_[kCopies][kVector];
};

}  // namespace gemwright_device
