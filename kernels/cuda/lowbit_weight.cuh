// A packed low-bit weight on its way to the matrix unit: scales, zero points, and codes as A
// fragments of four steps of 16 columns. docs/formats.md says where everything lies.
//
// With g = lane / 4: a thread holds rows g and g + 8.
#pragma once

#include "lowbit_codes.cuh"
#include "lowbit_params.cuh"

namespace gemwright_device {

// Types of scales, by the numbers of gemwright::ScaleType.
constexpr int kScaleF32 = 0;
constexpr int kScaleF16 = 1;
constexpr int kScaleBf16 = 2;
constexpr int kScaleE8m0 = 3;
constexpr int kScaleE4m3 = 4;

// Zero points, by the numbers of gemwright::Zero.
constexpr int kZeroSymmetric = 0;
constexpr int kZeroInteger = 1;
constexpr int kZeroReal = 2;

__host__ __device__ constexpr int scale_size(int type) {
  return type == kScaleF32 ? 4 : type == kScaleF16 || type == kScaleBf16 ? 2 : 1;
}

/// kBytes of shared memory, aligned to that or to 16, in whole registers.
template <int kBytes>
struct Held {
  unsigned w[(kBytes + 3) / 4];

  __device__ __forceinline__ void load(unsigned address) {
    if constexpr (kBytes == 2) {
      unsigned short x;
      asm volatile("ld.shared.b16 %0, [%1];" : "=h"(x) : "r"(address) : "memory");
      w[0] = x;
    } else if constexpr (kBytes <= 16) {
      load_shared_words<kBytes>(w, address);
    } else {
#pragma unroll
      for (int i = 0; i < kBytes / 4; i += 4) load_shared_words<16>(w + i, address + 4 * i);
    }
  }

  /// The same of global memory.
  __device__ __forceinline__ void load(const void* p) {
    if constexpr (kBytes == 2) {
      w[0] = *static_cast<const unsigned short*>(p);
    } else {
      const Words<kBytes> words = load_global<kBytes>(p);
#pragma unroll
      for (int i = 0; i < kBytes / 4; ++i) w[i] = words.w[i];
    }
  }
};

/// Element `2 * group + half` of a thread's scales, as fp32; without rounding.
template <int kScaleType, int kBytes>
__device__ __forceinline__ float scale_of(const Held<kBytes>& x, int group, int half) {
  const int i = 2 * group + half;
  if constexpr (kScaleType == kScaleF32) {
    return __uint_as_float(x.w[i]);
  } else if constexpr (kScaleType == kScaleF16 || kScaleType == kScaleBf16) {
    return unpack < kScaleType == kScaleF16 ? kF16 : kBf16 > (x, i);
  } else if constexpr (kScaleType == kScaleE8m0) {
    const unsigned bits = (x.w[i / 4] >> (8 * (i % 4)) & 0xff) << 23;
    const float y = __uint_as_float(max(bits, 0x400000U));  // 2^-127 is subnormal
    return fmaf(y, 0.0F, y);                                // 255 is NaN
  } else if constexpr (__CUDA_ARCH__ < 890) {
    return value_of_code<kCodeE4m3>(static_cast<int>(x.w[i / 4] >> (8 * (i % 4)) & 0xff), nullptr);
  } else {
    unsigned halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;"
        : "=r"(halves)
        : "h"(static_cast<unsigned short>(x.w[i / 4] >> (16 * (i / 2 % 2)))));
    return to_float<kF16>(static_cast<unsigned short>(halves >> (16 * half)));
  }
}

/// How a weight's scales and zero points lie, seen from a block of 64 columns.
template <int kScaleType, int kGroup, int kZeros>
struct GroupLayout {
  /// Groups of a block; steps of 16 columns of each; blocks of a group.
  static constexpr int kTogether = kGroup == 0 || kGroup >= 64 ? 1 : 64 / kGroup;
  static constexpr int kSteps = 4 / kTogether;
  static constexpr int kBlocks = kGroup >= 64 ? kGroup / 64 : 1;
  /// A thread's bytes: two rows.
  static constexpr int kScaleBytes = 2 * kTogether * scale_size(kScaleType);
  static constexpr int kZeroBytes = kZeros == kZeroSymmetric ? 0
                                    : kZeros == kZeroReal    ? kScaleBytes
                                                             : 2 * kTogether;

  /// Which of a row's sets of kTogether scales a block has.
  static __device__ __forceinline__ int set_of(int block) {
    return kGroup == 0 ? 0 : block / kBlocks;
  }
};

/// A thread's scales and zero points of a block. A real zero point is an integer, which comes off
/// the codes, and a fraction, which with the sum of the activations comes off their product.
template <int kType, int kBits, int kScaleType, int kGroup, int kZeros>
struct HeldGroups {
  using Layout = GroupLayout<kScaleType, kGroup, kZeros>;
  static constexpr int kTogether = Layout::kTogether;

  Held<Layout::kScaleBytes> scales;
  Held<Layout::kZeroBytes + (kZeros == kZeroSymmetric ? 4 : 0)> zeros;

  __device__ __forceinline__ void load(unsigned scales_at, unsigned zeros_at) {
    scales.load(scales_at);
    if constexpr (kZeros != kZeroSymmetric) zeros.load(zeros_at);
  }

  /// Of row g (half 0) or g + 8.
  __device__ __forceinline__ float scale(int group, int half) const {
    return scale_of<kScaleType>(scales, group, half);
  }

  __device__ __forceinline__ float integer_zero(int group, int half) const {
    if constexpr (kZeros == kZeroSymmetric) {
      return 1 << (kBits - 1);
    } else if constexpr (kZeros == kZeroInteger) {
      const int i = 2 * group + half;
      return static_cast<float>(zeros.w[i / 4] >> (8 * (i % 4)) & 0xff);
    } else {
      constexpr float kMost = (1 << kBits) - 1;
      return fminf(fmaxf(rintf(real_zero(group, half)), 0.0F), kMost);
    }
  }

  __device__ __forceinline__ float zero_fraction(int group, int half) const {
    return real_zero(group, half) - integer_zero(group, half);
  }

 private:
  __device__ __forceinline__ float real_zero(int group, int half) const {
    return scale_of<kScaleType>(zeros, group, half);
  }
};

/// From codes to A fragments.
template <int kType, int kBits, int kCodes, int kTableRowBytes = 256>
struct CodeDecoder {
  static constexpr bool kByRow = kCodes == kCodeRowTable;
  static constexpr bool kLookedUp = kCodes != kCodeInteger && !kByRow;
  using Table = PairTable<kType, kBits, kTableRowBytes>;
  static constexpr int kTableBytes = kLookedUp ? Table::kBytes : 0;
  /// What the values are in units of.
  static constexpr float kUnit =
      kCodes == kCodeInteger || kCodes == kCodeHalfLookedUp ? kIntegerUnit<kType> : 1.0F;

  Table table;  // in shared memory, if kLookedUp
  unsigned lane4 = kept(threadIdx.x % 32 * 4);

  /// The fragment of a step. `offsets` are Integers::offset of rows g and g + 8; `tables` their own
  /// tables (kByRow).
  __device__ __forceinline__ void decode(unsigned (&a)[4], const HeldCodes<kBits>& codes, int step,
                                         const unsigned (&offsets)[2],
                                         const float* const (&tables)[2]) const {
    if (kCodes == kCodeInteger || (kCodes == kCodeHalfLookedUp && step % 2 == 1)) {
      Integers<kType>::decode(a, codes, step, offsets);
    } else if constexpr (kByRow) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned pair = codes.pair(step, i);
        const float* values = tables[i % 2];
        a[i] =
            pack<kType>(values[code_of_pair<kBits>(pair, 0)], values[code_of_pair<kBits>(pair, 1)]);
      }
    } else {
      table.look_up(a, codes, step, lane4);
    }
  }
};

}  // namespace gemwright_device
