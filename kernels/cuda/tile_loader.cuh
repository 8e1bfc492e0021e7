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

// How a loader moves elements, beside cp.async of 16, 8 or 4 bytes at a time, which takes a base
// and strides that are that aligned and a stride of 1 along the major dimension. All three go
// through registers.
constexpr int kAnyStrides = 0;         // one by one
constexpr int kAnyStridesAcross = -1;  // the same, a warp's lanes along the rows and not along K
constexpr int kAnyAlignment = 1;  // stride of 1 along the major dimension: aligned vectors, shifted

/// kMove: one of the above, or the bytes of one cp.async. kRoundTf32: f32 elements that go through
/// registers are rounded for tensor cores that drop their low bits.
template <int kType, int kMajor, int kMove, int kRows, int kTileK, int kThreads,
          bool kRoundTf32 = false>
class TileLoader {
  using Tile = SharedTile<kType, kMajor, kRows, kTileK>;
  static constexpr int kSize = Tile::kSize;
  static constexpr int kPerChunk = Tile::kPerChunk;
  static constexpr int kLineStep = kThreads / Tile::kChunks;
  static constexpr int kCopies = (Tile::kLines + kLineStep - 1) / kLineStep;  // chunks of a thread
  static constexpr bool kThroughRegisters = kMove <= 1;
  static constexpr bool kShifts = kMove == kAnyAlignment;
  static_assert(kThreads % Tile::kChunks == 0);
  static_assert(kMove != kAnyStridesAcross || kMajor == kAlongK);
  static_assert(!kRoundTf32 || kThroughRegisters);

 public:
  TileLoader() = default;
  __device__ __forceinline__ TileLoader(const OperandView& x, int first_row, int first_k,
                                        int thread) {
    const bool along_k = kMajor == kAlongK;
    constexpr bool kAcross = kMove == kAnyStridesAcross;
    const int chunk = kAcross ? thread / kLineStep : thread % Tile::kChunks;
    const int line = kAcross ? thread % kLineStep : thread / Tile::kChunks;
    const long long line_stride = along_k ? x.row_stride : x.k_stride;
    const long long first_line = (along_k ? first_row : first_k) + line;
    const long long first_element = (along_k ? first_k : first_row) + chunk * kPerChunk;
    element_stride_ = kMove > 0 ? 1 : along_k ? x.k_stride : x.row_stride;
    line_step_ = line_stride * kLineStep * kSize;
    advance_ = (along_k ? element_stride_ : x.k_stride) * kTileK * kSize;
    lines_left_ = static_cast<int>((along_k ? x.rows : x.k) - first_line);
    elements_left_ = static_cast<int>((along_k ? x.k : x.rows) - first_element);
    from_ = static_cast<const char*>(x.base) +
            (first_line * line_stride + first_element * element_stride_) * kSize;
    line_ = line;
    chunk_ = chunk;
  }

  /// Begins to fetch k-tile number `tile` from where the loader stands, and stays there. The last
  /// one has to come this way: only it may reach past the end of K, and the others, in the loop,
  /// then need no check along K.
  __device__ __forceinline__ void start_at(unsigned shared, int tile) {
    const int before = tile * kTileK;
    const int k_left = (kMajor == kAlongK ? elements_left_ : lines_left_) - before;
    const int elements = min(max(kMajor == kAlongK ? k_left : elements_left_, 0), kPerChunk);
    const int lines = kMajor == kAlongK ? lines_left_ : k_left;
    const char* from = from_ + tile * advance_;
    note(from, elements);
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int valid = i * kLineStep < lines ? elements : 0;
      if constexpr (kThroughRegisters) {
        fetch(fetched_[i], from, inside(i) ? valid : 0);
      } else if (inside(i)) {
        copy(shared + Tile::offset(line_ + i * kLineStep, chunk_), from, valid * kSize);
      }
      from = step(from, line_step_);
    }
  }

  /// Stands `tiles` further on.
  __device__ __forceinline__ void skip(int tiles) {
    from_ += tiles * advance_;
  }

  /// Begins to fetch the next k-tile, all of it within K; or one of `parts` of it, in order. A copy
  /// that begins within the operand's rows is made as a whole: rows past the end give outputs that
  /// are never stored.
  __device__ __forceinline__ void start(unsigned shared, int part = 0, int parts = 1) {
    const char* from = part == 0 ? from_ : next_;
    const int elements = kMajor == kAlongK ? kPerChunk : min(elements_left_, kPerChunk);
    note(from_, elements);
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      if (i * parts / kCopies != part) continue;
      const bool valid = kMajor == kAlongK ? i * kLineStep < lines_left_ : elements_left_ > 0;
      if constexpr (kThroughRegisters) {
        fetch(fetched_[i], from, valid && inside(i) ? elements : 0);
      } else if (inside(i)) {
        const unsigned to = shared + Tile::offset(line_ + i * kLineStep, chunk_);
#pragma unroll
        for (int done = 0; done < 16; done += kMove) {
          const bool piece = kMajor == kAlongK || done / kSize < elements_left_;
          copy_async_if<kMove>(to + done, from + done, valid && piece);
        }
      }
      from = step(from, line_step_);
    }
    next_ = from;
    if (part == parts - 1) from_ += advance_;
  }

  /// Puts what came through registers into the tile at `shared`.
  __device__ __forceinline__ void finish(unsigned shared) {
    if constexpr (kThroughRegisters) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        if (!inside(i)) continue;
        Words<16> chunk;
        if constexpr (kShifts) {
          chunk = shifted(fetched_[i], first_byte_ + static_cast<unsigned>(i * line_step_));
        } else {
          chunk = fetched_[i];
        }
        if constexpr (kRoundTf32) {
#pragma unroll
          for (unsigned& word : chunk.w) word = to_tf32(word);
        }
        store_shared(shared + Tile::offset(line_ + i * kLineStep, chunk_), chunk);
      }
    }
  }

 private:
  /// Tiles of few lines leave some threads without a chunk.
  __device__ __forceinline__ bool inside(int i) const {
    return Tile::kLines % kLineStep == 0 || line_ + i * kLineStep < Tile::kLines;
  }

  static __device__ __forceinline__ void copy(unsigned to, const char* from, int valid) {
    if constexpr (kMove == 16) {
      copy_async<16>(to, from, valid);
    } else {
#pragma unroll
      for (int done = 0; done < 16; done += kMove) {
        copy_async<kMove>(to + done, from + done, min(max(valid - done, 0), kMove));
      }
    }
  }

  /// What shifted() must know of the chunks that are fetched from `from` on.
  __device__ __forceinline__ void note(const char* from, int elements) {
    if constexpr (kShifts) {
      first_byte_ = static_cast<unsigned>(reinterpret_cast<unsigned long long>(from));
      elements_ = elements;
    }
  }

  /// The aligned vectors that the chunk lies in; those without a valid element are not read. (What
  /// else an aligned vector with a valid element holds may always be read.)
  static __device__ __forceinline__ void fetch(Words<32>& to, const char* from, int valid) {
    const int shift = static_cast<int>(reinterpret_cast<unsigned long long>(from) & 15);
    const char* aligned = from - shift;
    Words<16> low{}, high{};
    if (valid > 0) low = load_global<16>(aligned);
    if (shift + valid * kSize > 16) high = load_global<16>(aligned + 16);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to.w[i] = low.w[i];
      to.w[i + 4] = high.w[i];
    }
  }

  /// The 16 bytes that begin at `address` mod 16; zero from element `elements_` on.
  __device__ __forceinline__ Words<16> shifted(const Words<32>& from, unsigned address) const {
    Words<32> x = from;
    const bool eight = (address & 8) != 0;
    const bool four = (address & 4) != 0;
    const unsigned bits = (address & 3) * 8;
#pragma unroll
    for (int i = 0; i < 6; ++i) x.w[i] = eight ? x.w[i + 2] : x.w[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) x.w[i] = four ? x.w[i + 1] : x.w[i];
    Words<16> to;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to.w[i] = kSize == 4 ? x.w[i] : __funnelshift_r(x.w[i], x.w[i + 1], bits);
    }
    if (elements_ < kPerChunk) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int bytes = elements_ * kSize - 4 * i;
        if (bytes < 4) to.w[i] = bytes > 0 ? to.w[i] & 0xffffu : 0;
      }
    }
    return to;
  }

  /// Element by element, from wherever they lie.
  __device__ __forceinline__ void fetch(Words<16>& to, const char* from, int valid) const {
    const long long stride = element_stride_ * kSize;
#pragma unroll
    for (int i = 0; i < kPerChunk; ++i) {
      const unsigned element = load_element_if<kSize>(from, i < valid);
      from = step(from, stride);
      if constexpr (kSize == 4) {
        to.w[i] = element;
      } else {
        to.w[i / 2] = i % 2 == 0 ? element : to.w[i / 2] | element << 16;
      }
    }
  }

  const char* from_;  // this thread's first chunk of the next k-tile
  const char* next_;  // its first chunk of the next part
  long long line_step_, advance_, element_stride_;
  int line_, chunk_;
  int lines_left_, elements_left_;  // from this thread's first chunk of the first k-tile on
  unsigned first_byte_;  // of the chunks on their way: its address, and their valid elements
  int elements_;
  Words<kShifts ? 32 : 16> fetched_[kThroughRegisters ? kCopies : 1];
};

}  // namespace gemwright_device
