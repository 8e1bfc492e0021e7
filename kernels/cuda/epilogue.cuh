// What becomes of an fp32 accumulator: D = alpha * acc + beta * C + bias, converted and stored.
#pragma once

#include "numeric.cuh"
#include "params.cuh"
#include "ptx.cuh"

namespace gemwright_device {

constexpr int kNoBias = 0;
constexpr int kBiasPerRow = 1;
constexpr int kBiasPerColumn = 2;

/// kWidth: how many adjacent columns are read and written at once in C and D. 1 takes any strides;
/// more needs column strides of 1, and N, rows, batches and bases that are multiples of kWidth.
/// kHasC: beta and C count; otherwise C is never read.
template <int kTypeD, int kWidth, bool kHasC, int kTypeC, int kBias, int kTypeBias>
struct Epilogue {
  /// Stores kCount adjacent columns of a row; what lies outside of D is dropped.
  template <int kCount>
  static __device__ __forceinline__ void store(const GemmParams& p, int batch, int row, int col,
                                               const float (&acc)[kCount]) {
    constexpr int kStep = kWidth < kCount ? kWidth : kCount;
    if (row >= p.m) return;
    const long long c_col = kStep > 1 ? 1 : p.c_col;
    const long long d_col = kStep > 1 ? 1 : p.d_col;
    const auto* c = static_cast<const Element<kTypeC>*>(p.c);
    if constexpr (kHasC) c += batch * p.c_batch + row * p.c_row + col * c_col;
    auto* d = static_cast<Element<kTypeD>*>(p.d) + batch * p.d_batch + row * p.d_row + col * d_col;
#pragma unroll
    for (int i = 0; i < kCount; i += kStep) {
      if (col + i >= p.n) return;
      float x[kStep];
#pragma unroll
      for (int j = 0; j < kStep; ++j) x[j] = p.alpha * acc[i + j];
      if constexpr (kHasC) add_c(x, c + i * c_col, p.beta);
      if constexpr (kBias != kNoBias) {
        const auto* bias = static_cast<const Element<kTypeBias>*>(p.bias);
#pragma unroll
        for (int j = 0; j < kStep; ++j) {
          x[j] += to_float<kTypeBias>(bias[kBias == kBiasPerRow ? row : col + i + j]);
        }
      }
      put(d + i * d_col, x);
    }
  }

 private:
  template <int kCount>
  static __device__ __forceinline__ void add_c(float (&x)[kCount], const Element<kTypeC>* from,
                                               float beta) {
    if constexpr (kCount == 1) {
      x[0] = fmaf(beta, to_float<kTypeC>(*from), x[0]);
    } else {
      const auto words = load_global<kCount * sizeof(*from)>(from);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        x[i] = fmaf(beta, unpack<kTypeC>(words, i), x[i]);
      }
    }
  }

  template <int kCount>
  static __device__ __forceinline__ void put(Element<kTypeD>* to, const float (&x)[kCount]) {
    if constexpr (kCount == 1) {
      *to = from_float<kTypeD>(x[0]);
    } else {
      Words<kCount * sizeof(*to)> words;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if constexpr (kTypeD == kF32) {
          words.w[i] = __float_as_uint(x[i]);
        } else if (i % 2 == 0) {
          words.w[i / 2] = pack<kTypeD>(x[i], x[i + 1]);
        }
      }
      store_global(to, words);
    }
  }
};

}  // namespace gemwright_device
