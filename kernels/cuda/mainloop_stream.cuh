// Weights that go from memory straight into mma.sync fragments, with no shared memory between: the
// order of K inside a step is permuted, alike for weights and activations, so that every thread's
// 16-byte loads hold just the elements that its fragments need.
//
// A step is 64 bytes of K. With g = lane / 4 and t = lane % 4, lane t of a quad owns elements
// [t * kOwn, (t + 1) * kOwn) of it, kOwn = 16 bytes / size. A fragment multiplies 16 weight rows by
// 8 rows of activations over half of a step, two registers of each: registers 2h and 2h + 1 of
// those four, h being the half.
#pragma once

#include "params.cuh"
#include "ptx_mma.cuh"

namespace gemwright_device {

using Quad = Words<16>;

/// 16 bytes of which the elements at `valid` and after are read as zero.
template <int kType>
__device__ __forceinline__ Quad load_part(const Element<kType>* p, int valid) {
  constexpr int kOwn = 16 / sizeof(Element<kType>);
  Quad x = {};
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (i >= valid) break;
    if constexpr (kType == kF32) {
      x.w[i] = __float_as_uint(p[i]);
    } else {
      x.w[i / 2] |= static_cast<unsigned>(p[i]) << (16 * (i % 2));
    }
  }
  return x;
}

/// Registers of 16 weight rows for one half of a step, in the instruction's order.
struct WeightFragment {
  unsigned a[4];
};

/// Weights whose K is contiguous: 16 rows a block, two loads a block and step. What loads take of K
/// is relative to where the weights stand, so that addresses are a register and a constant.
template <int kType, int kBlocks>
struct WeightsAlongK {
  static constexpr int kLoads = 2 * kBlocks;
  using Loads = Quad[kLoads];

  const Element<kType>* row[kLoads];

  /// Row of the tile that accumulator row g (upper 0) or g + 8 (upper 1) of a block stands for.
  static __device__ __forceinline__ int row_of(int block, int upper, int g) {
    return 16 * block + 8 * upper + g;
  }

  /// `first` is the tile's first row; rows past the last are read as the last, and not stored. `k`
  /// is where this warp begins.
  __device__ __forceinline__ WeightsAlongK(const GemmParams& p, int batch, int first, int k, int g,
                                           int t) {
    constexpr int kOwn = 16 / sizeof(Element<kType>);
    const auto* base = static_cast<const Element<kType>*>(p.b) + (k + kOwn * t);
    if (batch > 0) base += batch * p.b_batch;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) row[i] = base + min(first + 8 * i + g, p.n - 1) * p.b_col;
  }

  __device__ __forceinline__ void advance(int k) {
#pragma unroll
    for (auto& at : row) at += k;
  }

  __device__ __forceinline__ void load(Loads& x, int k) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) x[i] = load_once(row[i] + k);
  }

  /// As load, at the end of K: `valid` elements are left from this lane's first on.
  __device__ __forceinline__ void load_end(Loads& x, int k, int valid) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) x[i] = load_part<kType>(row[i] + k, valid);
  }

  static __device__ __forceinline__ WeightFragment fragment(const Loads& x, int block, int half) {
    const Quad& low = x[2 * block];
    const Quad& high = x[2 * block + 1];
    return {{low.w[2 * half], high.w[2 * half], low.w[2 * half + 1], high.w[2 * half + 1]}};
  }
};

/// Weights whose rows (N) are contiguous, 16-bit types: 64 rows, of which thread group g holds 8
/// adjacent ones for each of its 8 elements of K. Pairs along K are made by byte permutes.
template <int kType>
struct WeightsAlongRows {
  static constexpr int kLoads = 8;
  using Loads = Quad[kLoads];

  const Element<kType>* row;
  long long pitch;

  static __device__ __forceinline__ int row_of(int block, int upper, int g) {
    return 8 * g + 4 * upper + block;
  }

  __device__ __forceinline__ WeightsAlongRows(const GemmParams& p, int batch, int first, int k,
                                              int g, int t)
      : pitch(p.b_row) {
    row =
        static_cast<const Element<kType>*>(p.b) + min(first + 8 * g, p.n - 8) + (k + 8 * t) * pitch;
    if (batch > 0) row += batch * p.b_batch;
  }

  __device__ __forceinline__ void advance(int k) { row += k * pitch; }

  __device__ __forceinline__ void load(Loads& x, int k) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) x[i] = load_once(row + (k + i) * pitch);
  }

  __device__ __forceinline__ void load_end(Loads& x, int k, int valid) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      x[i] = Quad{};
      if (i < valid) x[i] = load_once(row + (k + i) * pitch);
    }
  }

  static __device__ __forceinline__ WeightFragment fragment(const Loads& x, int block, int half) {
    const unsigned select = block % 2 == 0 ? 0x5410U : 0x7632U;
    const auto pair = [&](int i, int upper) {
      const int word = 2 * upper + block / 2;
      return __byte_perm(x[i].w[word], x[i + 1].w[word], select);
    };
    return {{pair(4 * half, 0), pair(4 * half, 1), pair(4 * half + 2, 0), pair(4 * half + 2, 1)}};
  }
};

/// Rows of A, K contiguous, 8 rows a block. Those past the last are read as the last: what becomes
/// of them is not stored, and equal addresses of a warp are one request.
template <int kType, int kBlocks>
struct Activations {
  using Loads = Quad[kBlocks];

  const Element<kType>* row[kBlocks];

  __device__ __forceinline__ Activations(const GemmParams& p, int batch, int k, int g, int t) {
    constexpr int kOwn = 16 / sizeof(Element<kType>);
    const auto* base = static_cast<const Element<kType>*>(p.a) + (k + kOwn * t);
    if (batch > 0) base += batch * p.a_batch;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) row[i] = base + min(8 * i + g, p.m - 1) * p.a_row;
  }

  __device__ __forceinline__ void advance(int k) {
#pragma unroll
    for (auto& at : row) at += k;
  }

  __device__ __forceinline__ void load(Loads& x, int k) const {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) x[i] = load_global<16>(row[i] + k);
  }

  __device__ __forceinline__ void load_end(Loads& x, int k, int valid) const {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) x[i] = load_part<kType>(row[i] + k, valid);
  }
};

/// One warp's part of the product of a tile of weights and the activations.
///
/// Chunks of kUnroll steps are dealt to the warps in turn; each keeps one chunk of loads in flight,
/// renewing every load as soon as it has been used.
template <int kType, class Weights, int kWeightBlocks, int kActivationBlocks, int kUnroll>
struct StreamMainloop {
  static constexpr int kOwn = 16 / sizeof(Element<kType>);
  static constexpr int kStep = 4 * kOwn;
  static constexpr int kChunk = kUnroll * kStep;
  using Inputs = Activations<kType, kActivationBlocks>;

  float acc[kWeightBlocks][kActivationBlocks][4] = {};
  typename Weights::Loads w[kUnroll];
  typename Inputs::Loads x[kUnroll];

  /// First loads of weights, before anything that has to be waited for. Weights (and inputs) stand
  /// at the warp's first chunk.
  __device__ __forceinline__ void start(const Weights& weights, int chunk, int k) {
    if ((chunk + 1) * kChunk > k) return;
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) weights.load(w[j], j * kStep);
  }

  /// Chunks `chunk`, `chunk + stride`, ... of K; start() has been called for the first.
  __device__ __forceinline__ void run(Weights& weights, Inputs& inputs, int chunk, int stride,
                                      int k, int t) {
    const int full = k / kChunk;
    const auto advance = [&] {
      weights.advance(stride * kChunk);
      inputs.advance(stride * kChunk);
      chunk += stride;
    };
    if (chunk < full) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) inputs.load(x[j], j * kStep);
#pragma unroll 1
      while (chunk + stride < full) {
        advance();
#pragma unroll
        for (int j = 0; j < kUnroll; ++j) {
          use(j);
          weights.load(w[j], j * kStep);
          inputs.load(x[j], j * kStep);
        }
      }
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) use(j);
      advance();
    }
    if (chunk != full) return;
#pragma unroll 1
    for (int at = 0; full * kChunk + at < k; at += kStep) {
      const int valid = k - full * kChunk - at - t * kOwn;
      weights.load_end(w[0], at, valid);
      inputs.load_end(x[0], at, valid);
      use(0);
    }
  }

 private:
  __device__ __forceinline__ void use(int j) {
    if constexpr (kType == kF32) round_step(j);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int r = 0; r < kWeightBlocks; ++r) {
        const WeightFragment f = Weights::fragment(w[j], r, half);
#pragma unroll
        for (int c = 0; c < kActivationBlocks; ++c) {
          multiply<kType>(acc[r][c], f.a[0], f.a[1], f.a[2], f.a[3], x[j][c].w[2 * half],
                          x[j][c].w[2 * half + 1]);
        }
      }
    }
  }

  __device__ __forceinline__ void round_step(int j) {
#pragma unroll
    for (auto& quad : w[j]) {
#pragma unroll
      for (unsigned& word : quad.w) word = to_tf32(word);
    }
#pragma unroll
    for (auto& quad : x[j]) {
#pragma unroll
      for (unsigned& word : quad.w) word = to_tf32(word);
    }
  }
};

}  // namespace gemwright_device
