// A packed low-bit weight in the registers of a warp: 16 rows x 64 columns at a time, as the A
// fragments of four steps of m16n8k16. docs/formats.md says where everything lies.
//
// With g = lane / 4: a thread holds rows g and g + 8.
#pragma once

#include "lowbit_params.cuh"
#include "numeric.cuh"
#include "ptx.cuh"

namespace gemwright_device {

// What a code stands for.
constexpr int kCodeSymmetric = 0;  // code - 2^(bits - 1)
constexpr int kCodeOffset = 1;     // code - zero point
constexpr int kCodeE2m1 = 2;
constexpr int kCodeTable = 3;  // entry of the weight's table

// Types of scales, by the numbers of gemwright::ScaleType.
constexpr int kScaleF32 = 0;
constexpr int kScaleF16 = 1;
constexpr int kScaleBf16 = 2;
constexpr int kScaleE8m0 = 3;
constexpr int kScaleE4m3 = 4;

// ---- Codes
// ---------------------------------------------------------------------------------------

/// What code `code` of 4 bits stands for, zero points aside.
template <int kCodes>
__device__ __forceinline__ float value_of_code(int code, const float* table) {
  if constexpr (kCodes == kCodeTable) {
    return table[code];
  } else if constexpr (kCodes == kCodeE2m1) {
    const int exponent = code >> 1 & 3;
    const float mantissa = static_cast<float>(code & 1) * 0.5F;
    const float magnitude = exponent == 0 ? mantissa : (1 + mantissa) * (1 << exponent) * 0.5F;
    return code >= 8 ? -magnitude : magnitude;
  } else {
    return 0;  // not looked up
  }
}

/// Values of all pairs of 4-bit codes, in shared memory. A row of 256 bytes a pair, that its byte
/// of codes is the number of; the first half of it is one copy in every bank, so that no two lanes
/// meet, and the second half is free for other uses. An address is one byte permute.
template <int kType, bool kUsed>
struct PairTable {
  static constexpr int kRowBytes = 256;
  static constexpr int kSpareFloats = 256 * 32;
  /// Without the table only the free part is there.
  static constexpr int kBytes = kUsed ? 256 * kRowBytes : 4 * kSpareFloats;

  char* rows;

  /// By all kThreads threads of the CTA; a barrier follows.
  template <int kCodes, int kThreads>
  __device__ __forceinline__ void fill(const float* table) const {
    const float value = value_of_code<kCodes>(threadIdx.x % 16, table);
    constexpr int kVectors = kRowBytes / 2 / 16;  // a row
#pragma unroll
    for (int i = threadIdx.x; i < 256 * kVectors; i += kThreads) {
      const int pair = i / kVectors;
      const unsigned x = pack<kType>(__shfl_sync(0xffffffffU, value, pair % 16),
                                     __shfl_sync(0xffffffffU, value, pair / 16));
      store_shared(shared_address(rows + pair * kRowBytes + i % kVectors * 16),
                   Words<16>{{x, x, x, x}});
    }
  }

  /// The A fragment of one step, whose codes are `word`. `lane4` is 4 * lane.
  __device__ __forceinline__ void look_up(unsigned (&a)[4], unsigned word, unsigned lane4) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned offset = __byte_perm(word, lane4, 0x7704 + (i << 4));
      a[i] = *reinterpret_cast<const unsigned*>(rows + offset);
    }
  }

  /// Float `i` of the free halves.
  __device__ __forceinline__ float* spare(int i) const {
    if constexpr (!kUsed) return reinterpret_cast<float*>(rows) + i;
    return reinterpret_cast<float*>(rows + i / 32 * kRowBytes + kRowBytes / 2 + i % 32 * 4);
  }
};

/// 4-bit integers without a table: codes lie in the halves of a register as subnormal numbers,
/// which one fused multiply-add makes normal and takes the zero point off; exactly. Values are in
/// units of kUnit.
template <int kType>
struct Integers {
  static constexpr float kUnit = kType == kF16 ? 512.0F : 64.0F;

  /// -z in both halves, as decode wants it.
  static __device__ __forceinline__ unsigned offset(unsigned z) {
    const float x = static_cast<float>(z) * (-1 / kUnit);
    return pack<kType>(x, x);
  }

  /// The A fragment of one step. `offsets` are those of rows g and g + 8.
  static __device__ __forceinline__ void decode(unsigned (&a)[4], unsigned word,
                                                const unsigned (&offsets)[2]) {
    const unsigned low = word & 0x0f0f0f0fU;
    const unsigned high = word >> 4 & 0x0f0f0f0fU;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Bytes low[i], 0, high[i], 0: a selector's bit 3 takes the sign bit, which is 0, eight
      // times.
      // (__byte_perm would drop that bit.)
      unsigned x;
      asm("prmt.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(low), "r"(high), "r"(0xc480 + 0x1111 * i));
      if constexpr (kType == kF16) {
        asm("fma.rn.f16x2 %0, %1, %2, %3;"
            : "=r"(a[i])
            : "r"(x), "r"(0x78007800U), "r"(offsets[i % 2]));
      } else {
        asm("fma.rn.bf16x2 %0, %1, %2, %3;"
            : "=r"(a[i])
            : "r"(x), "r"(0x7f007f00U), "r"(offsets[i % 2]));
      }
    }
  }
};

// ---- Scales and zero points
// ----------------------------------------------------------------------

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
    } else if constexpr (kBytes == 4) {
      w[0] = load_shared(address);
    } else if constexpr (kBytes == 8) {
      asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                   : "=r"(w[0]), "=r"(w[1])
                   : "r"(address)
                   : "memory");
    } else {
#pragma unroll
      for (int i = 0; i < kBytes / 4; i += 4) {
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w[i]), "=r"(w[i + 1]), "=r"(w[i + 2]), "=r"(w[i + 3])
                     : "r"(address + 4 * i)
                     : "memory");
      }
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
  } else {
    unsigned halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;"
        : "=r"(halves)
        : "h"(static_cast<unsigned short>(x.w[i / 4] >> (16 * (i / 2 % 2)))));
    return to_float<kF16>(static_cast<unsigned short>(halves >> (16 * half)));
  }
}

}  // namespace gemwright_device
