// Rounds each row of activations to codes and one fp32 scale; docs/formats.md defines both to the
// bit. A CTA a row, any number of threads that 32 divides; 16 columns a thread at a time.
//
// Bytes of e4m3: codes of 16 columns stand in the order in which gemm_lowbit_a8.cu meets them
// (lowbit_fp8.cuh). As bf16 numbers, which hold codes of both kinds, they stand in the order of
// columns. Columns past K are zeros.
//
// The preamble defines: kType, kVectors (rows of a 16-bit type in whole 16 bytes, K contiguous),
// kOrdered (columns come in an order of the weight's), kRounded (the kind of codes).
#pragma once

#include "lowbit_params.cuh"
#include "numeric.cuh"
#include "ptx.cuh"
#include "ptx_hopper.cuh"

namespace gemwright_device {

static_assert(!kVectors || !kOrdered);

constexpr int kE4m3Bytes = 0;
constexpr int kE4m3Numbers = 1;
constexpr int kInt8Numbers = 2;
constexpr int kCodeBytes = kRounded == kE4m3Bytes ? 1 : 2;
constexpr float kLargest = kRounded == kInt8Numbers ? 127 : 448;
constexpr int kMostWarps = 8;
/// So many that most threads of a multiprocessor are in use: rows come one by one from memory.
constexpr int kQuantisersPerSm = kVectors ? 8 : 4;
constexpr int kHeld =
    2;  // times 16 columns that a thread keeps; it reads what is beyond them twice

/// a / s for many a, rounded to nearest as a division is.
struct Quotient {
  float s, inverse;
  bool usual;  // nothing on the way is subnormal, unless the quotient is far below all codes

  static __device__ __forceinline__ Quotient by(float s) {
    return {s, __frcp_rn(s), s > 0x1p-60F && s < 0x1p60F};
  }

  /// From an approximation, twice to the nearest of what the remainder says: after the first step
  /// it is next to the exact quotient or is it, and then (Markstein 1990) the second one rounds
  /// correctly.
  __device__ __forceinline__ float of(float a) const {
    if (!usual) return __fdiv_rn(a, s);
    float q = a * inverse;
    q = fmaf(fmaf(-q, s, a), inverse, q);
    return fmaf(fmaf(-q, s, a), inverse, q);
  }
};

/// Two codes, `low` in the low byte.
__device__ __forceinline__ unsigned e4m3_pair(float low, float high) {
  unsigned short x;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(x) : "f"(high), "f"(low));
  return x;
}

/// Two codes as bf16 numbers.
__device__ __forceinline__ unsigned number_pair(float low, float high) {
  if constexpr (kRounded == kInt8Numbers) {
    const auto code = [](float x) { return fminf(fmaxf(rintf(x), -kLargest), kLargest); };
    return pack<kBf16>(code(low), code(high));
  } else {
    unsigned halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;"
        : "=r"(halves)
        : "h"(static_cast<unsigned short>(e4m3_pair(low, high))));
    return pack<kBf16>(to_float<kF16>(static_cast<unsigned short>(halves)),
                       to_float<kF16>(static_cast<unsigned short>(halves >> 16)));
  }
}

/// Columns 16 * index to 16 * index + 15 of a row: of 16-bit types as they lie in memory, or in
/// fp32.
template <bool kPacked>
struct Columns {
  float x[16];

  __device__ __forceinline__ void load(const QuantiseParams& p, const Element<kType>* row,
                                       int index) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int column = 16 * index + i;
      x[i] = 0;
      if (column >= p.k) continue;
      const int from = kOrdered ? p.order[column] : column;
      x[i] = to_float<kType>(row[from * p.a_col]);
    }
  }

  __device__ __forceinline__ float at(int i) const {
    return x[i];
  }

  /// The bits of the largest magnitude in fp32: those of NaN are above those of infinity.
  __device__ __forceinline__ unsigned largest() const {
    unsigned most = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) most = max(most, __float_as_uint(x[i]) & 0x7fffffffU);
    return most;
  }
};

template <>
struct Columns<true> {
  Words<16> halves[2];

  /// K is a multiple of 8.
  __device__ __forceinline__ void load(const QuantiseParams& p, const Element<kType>* row,
                                       int index) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = 16 * index + 8 * half;
      halves[half] = {};
      if (column < p.k) halves[half] = load_global<16>(row + column);
    }
  }

  __device__ __forceinline__ float at(int i) const {
    return unpack<kType>(halves[i / 8], i % 8);
  }

  __device__ __forceinline__ unsigned largest() const {
    unsigned most = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const unsigned pair = halves[i / 4].w[i % 4] & 0x7fff7fffU;
      asm("max.u16x2 %0, %0, %1;" : "+r"(most) : "r"(pair));
    }
    const unsigned one = max(most & 0xffff, most >> 16);
    return __float_as_uint(to_float<kType>(static_cast<unsigned short>(one)));
  }
};

/// Codes of 16 columns.
using Codes16 = Words<16 * kCodeBytes>;
template <bool kPacked>
__device__ __forceinline__ Codes16 codes_of(const Columns<kPacked>& columns,
                                            const Quotient& quotient) {
  Codes16 words;
  if constexpr (kRounded == kE4m3Bytes) {
    const auto pair = [&](int i) {
      return e4m3_pair(quotient.of(columns.at(i)), quotient.of(columns.at(i + 1)));
    };
#pragma unroll
    for (int q = 0; q < 4; ++q) words.w[q] = pair(2 * q) | pair(2 * q + 8) << 16;
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      words.w[i] = number_pair(quotient.of(columns.at(2 * i)), quotient.of(columns.at(2 * i + 1)));
    }
  }
  return words;
}

/// Of all threads of the CTA; `shared` has kMostWarps words.
__device__ __forceinline__ unsigned largest_of_all(unsigned x, unsigned* shared) {
  x = __reduce_max_sync(0xffffffffU, x);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  const unsigned warps = blockDim.x / 32;
  return __reduce_max_sync(0xffffffffU, threadIdx.x % 32 < warps ? shared[threadIdx.x % 32] : 0);
}

}  // namespace gemwright_device

extern "C" __global__ void __launch_bounds__(32 * gemwright_device::kMostWarps,
                                             gemwright_device::kQuantisersPerSm)
    quantise_rows(const __grid_constant__ gemwright_device::QuantiseParams p) {
  using namespace gemwright_device;
  __shared__ unsigned shared[kMostWarps];
  wait_for_previous_kernel();
  launch_next_kernel();
  const long long m = blockIdx.x;
  const auto* row = static_cast<const Element<kType>*>(p.a) + m * p.a_row;
  const int count = (p.k + 15) / 16;
  const int threads = static_cast<int>(blockDim.x);
  const int first = static_cast<int>(threadIdx.x);

  // A thread keeps its first columns, and reads those beyond them twice.
  Columns<kVectors> columns;
  columns.load(p, row, min(first, count));  // past the end there are zeros
  unsigned most = columns.largest();
  for (int i = first + threads; i < count; i += threads) {
    Columns<kVectors> more;
    more.load(p, row, i);
    most = max(most, more.largest());
  }
  const float largest = __uint_as_float(largest_of_all(most, shared));
  const bool finite = __float_as_uint(largest) < 0x7f800000U;
  const float s = finite ? __fdiv_rn(largest, kLargest) : __uint_as_float(0x7fffffffU);
  if (first == 0) p.scales[m] = s;

  const Quotient quotient = Quotient::by(s);
  auto* codes = static_cast<char*>(p.codes) + m * p.pitch * kCodeBytes;
  for (int i = first; i < p.pitch / 16; i += threads) {
    if (i != first) columns.load(p, row, i);
    Codes16 words{};
    if (finite && s > 0) words = codes_of(columns, quotient);
    store_global(codes + 16 * kCodeBytes * i, words);
  }
}
