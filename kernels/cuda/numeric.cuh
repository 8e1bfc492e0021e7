// Element types and conversions. NaN and Inf survive all of them; fp16 overflow gives Inf.
#pragma once

namespace gemwright_device {

// Types by the numbers of gemwright::DataType, so that a preamble can name them.
constexpr int kF32 = 0;
constexpr int kF16 = 1;
constexpr int kBf16 = 2;

template <int kType>
struct ElementOf {
  using Bits = unsigned short;
};
template <>
struct ElementOf<kF32> {
  using Bits = float;
};

/// How one element lies in memory: float, or the 16 bits of f16 and bf16.
template <int kType>
using Element = typename ElementOf<kType>::Bits;

template <int kType>
__device__ __forceinline__ float to_float(Element<kType> x) {
  if constexpr (kType == kF32) {
    return x;
  } else if constexpr (kType == kF16) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
  } else {
    return __uint_as_float(static_cast<unsigned>(x) << 16);
  }
}

/// To nearest, ties to even.
template <int kType>
__device__ __forceinline__ Element<kType> from_float(float x) {
  if constexpr (kType == kF32) {
    return x;
  } else {
    unsigned short y;
    if constexpr (kType == kF16) {
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    } else {
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    }
    return y;
  }
}

/// Two elements of a 16-bit type in one register, `low` at the lower address.
template <int kType>
__device__ __forceinline__ unsigned pack(float low, float high) {
  unsigned y;
  if constexpr (kType == kF16) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  }
  return y;
}

/// Element `i` of packed registers.
template <int kType, typename Words>
__device__ __forceinline__ float unpack(const Words& words, int i) {
  if constexpr (kType == kF32) {
    return __uint_as_float(words.w[i]);
  } else {
    const unsigned pair = words.w[i / 2];
    return to_float<kType>(static_cast<unsigned short>(i % 2 == 0 ? pair & 0xffff : pair >> 16));
  }
}

/// Rounds to tf32 for tensor cores that drop the low 13 bits: what is added grows from 0.35 to 0.7
/// of a unit in the last place that stays, half of one on average, and never changes a tf32 value.
/// One instruction that takes NaN and Inf as they are; adding half a unit exactly takes three.
__device__ __forceinline__ unsigned to_tf32(unsigned bits) {
  return __float_as_uint(__uint_as_float(bits) * (1.0F + 0.7F / 2048.0F));
}

}  // namespace gemwright_device
