// Copies tiles of an operand from global to shared memory, k-tile after k-tile. What lies outside
// of the operand becomes zero, along K in both operands, so that no NaN of a neighbour gets in.
#pragma once

#include "ptx.cuh"
#include "ptx_async.cuh"
#include "shared_tile.cuh"

namespace gemwright_device {

/// Where an operand's elements are: base + row * row_stride + k * k_stride, in elements.
struct OperandView {
  const void* base;
  long long row_stride, k_stride;
  int rows, k;
};

/// kBytes: what one copy moves: 16, 8 or 4 where base and strides are that aligned and the stride
/// of the major dimension is 1; 0 takes any strides, through registers.
template <int kType, int kMajor, int kBytes, int kRows, int kTileK, int kThreads>
class TileLoader {
  using Tile = SharedTile<kType, kMajor, kRows, kTileK>;
  static constexpr int kSize = Tile::kSize;
  static constexpr int kPerChunk = Tile::kPerChunk;
  static constexpr int kLineStep = kThreads / Tile::kChunks;
  static constexpr int kCopies = (Tile::kLines + kLineStep - 1) / kLineStep;  // chunks of a thread
  static_assert(kThreads % Tile::kChunks == 0);

 public:
  __device__ __forceinline__ TileLoader(const OperandView& x, int first_row, int first_k,
                                        int thread) {
    const bool along_k = kMajor == kAlongK;
    const int chunk = thread % Tile::kChunks;
    const int line = thread / Tile::kChunks;
    const long long line_stride = along_k ? x.row_stride : x.k_stride;
    const long long first_line = (along_k ? first_row : first_k) + line;
    const long long first_element = (along_k ? first_k : first_row) + chunk * kPerChunk;
    element_stride_ = kBytes != 0 ? 1 : along_k ? x.k_stride : x.row_stride;
    line_step_ = line_stride * kLineStep * kSize;
    advance_ = (along_k ? element_stride_ : x.k_stride) * kTileK * kSize;
    lines_left_ = static_cast<int>((along_k ? x.rows : x.k) - first_line);
    elements_left_ = static_cast<int>((along_k ? x.k : x.rows) - first_element);
    from_ = static_cast<const char*>(x.base) +
            (first_line * line_stride + first_element * element_stride_) * kSize;
    line_ = line;
    chunk_ = chunk;
  }

  /// Begins to fetch the last of `count` k-tiles that start where the loader stands, and stays
  /// there. It comes first because only it may reach past the end of K: the others, in the loop,
  /// then need no check along K.
  __device__ __forceinline__ void start_last(unsigned shared, int count) {
    const int before = (count - 1) * kTileK;
    const int k_left = (kMajor == kAlongK ? elements_left_ : lines_left_) - before;
    const int elements = min(max(kMajor == kAlongK ? k_left : elements_left_, 0), kPerChunk);
    const int lines = kMajor == kAlongK ? lines_left_ : k_left;
    const char* from = from_ + (count - 1) * advance_;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int valid = i * kLineStep < lines ? elements : 0;
      if constexpr (kBytes == 0) {
        gather(fetched_[i], from, valid);
      } else if (inside(i)) {
        copy(shared + Tile::offset(line_ + i * kLineStep, chunk_), from, valid * kSize);
      }
      from += line_step_;
    }
  }

  /// Begins to fetch the next k-tile, all of it within K. A copy that begins within the operand's
  /// rows is made as a whole: rows past the end give outputs that are never stored.
  __device__ __forceinline__ void start(unsigned shared) {
    const char* from = from_;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const bool valid = kMajor == kAlongK ? i * kLineStep < lines_left_ : elements_left_ > 0;
      if constexpr (kBytes == 0) {
        const int rows = kMajor == kAlongK ? kPerChunk : min(elements_left_, kPerChunk);
        gather(fetched_[i], from, valid ? rows : 0);
      } else if (inside(i)) {
        const unsigned to = shared + Tile::offset(line_ + i * kLineStep, chunk_);
#pragma unroll
        for (int done = 0; done < 16; done += kBytes) {
          const bool piece = kMajor == kAlongK || done / kSize < elements_left_;
          copy_async_if<kBytes>(to + done, from + done, valid && piece);
        }
      }
      from += line_step_;
    }
    from_ += advance_;
  }

  /// Puts what came through registers into the tile at `shared`.
  __device__ __forceinline__ void finish(unsigned shared) {
    if constexpr (kBytes == 0) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        if (!inside(i)) continue;
        store_shared(shared + Tile::offset(line_ + i * kLineStep, chunk_), fetched_[i]);
      }
    }
  }

 private:
  /// Tiles of few lines leave some threads without a chunk.
  __device__ __forceinline__ bool inside(int i) const {
    return Tile::kLines % kLineStep == 0 || line_ + i * kLineStep < Tile::kLines;
  }

  static __device__ __forceinline__ void copy(unsigned to, const char* from, int valid) {
    if constexpr (kBytes == 16) {
      copy_async<16>(to, from, valid);
    } else {
#pragma unroll
      for (int done = 0; done < 16; done += kBytes) {
        copy_async<kBytes>(to + done, from + done, min(max(valid - done, 0), kBytes));
      }
    }
  }

  __device__ __forceinline__ void gather(Words<16>& to, const char* from, int valid) const {
    const long long stride = element_stride_ * kSize;
    if constexpr (kSize == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        to.w[i] = i < valid ? *reinterpret_cast<const unsigned*>(from + i * stride) : 0;
      }
    } else {
#pragma unroll
      for (int i = 0; i < 8; i += 2) {
        const auto* low = reinterpret_cast<const unsigned short*>(from + i * stride);
        const auto* high = reinterpret_cast<const unsigned short*>(from + (i + 1) * stride);
        const unsigned first = i < valid ? *low : 0;
        const unsigned second = i + 1 < valid ? *high : 0;
        to.w[i / 2] = first | second << 16;
      }
    }
  }

  const char* from_;
  long long line_step_, advance_, element_stride_;
  int line_, chunk_;
  int lines_left_, elements_left_;  // from this thread's first chunk of the first k-tile on
  Words<16> fetched_[kBytes == 0 ? kCopies : 1];
};

}  // namespace gemwright_device
