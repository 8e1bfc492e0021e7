// Mainloop of wgmma kernels whose A operand is a packed low-bit weight: codes wait in the ring
// beside the activations (B) and become the register operand while the block before is multiplied.
#pragma once

#include "lowbit_weight.cuh"
#include "mainloop_wgmma.cuh"

namespace gemwright_device {

/// How scales come in. Rounding code * scale to 16 bits is exact for some formats, whose weights
/// are scaled; for others the sum of a group is, in fp32; and where all of a row share a scale,
/// what is stored. In place: accumulators are in units of the scale of the group that is added, and
/// change units from group to group. That takes one set of accumulators, not two.
constexpr int kScaleWeights = 0;
constexpr int kScaleSums = 1;
constexpr int kScaleRows = 2;
constexpr int kScaleInPlace = 3;

/// 1 / x of a normal x to a unit in the last place, in one instruction.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// What one thread holds of a block of 64 columns: fragments of four steps, scales, and of real
/// zero points what is left of them when an integer has come off the codes, with the other sign.
template <int kGroups, bool kReal>
struct WeightBlock {
  unsigned a[4][4];
  float scale[kGroups][2];
  float fraction[kReal ? kGroups : 1][2];
};

/// Reads and decodes blocks. Sizes are of one 64-row tile.
template <int kType, int kBits, int kCodes, int kScaleType, int kGroup, int kZeros, int kScaling>
struct WeightDecoder {
  using Codes = CodeDecoder<kType, kBits, kCodes>;
  using Groups = HeldGroups<kType, kBits, kScaleType, kGroup, kZeros>;
  using Places = Groups::Layout;
  using Planes = CodePlanes<kBits>;
  static constexpr bool kReal = kZeros == kZeroReal;
  static_assert(!kReal || kScaling == kScaleSums);
  static_assert(kScaling != kScaleInPlace || kType == kBf16 || kScaleType == kScaleF16 ||
                kScaleType == kScaleE4m3);
  using Block = WeightBlock<Places::kTogether, kReal>;
  static constexpr int kCodeSpan = Planes::kTileBytes;
  static constexpr int kScaleSpan = 32 * Places::kScaleBytes;
  static constexpr int kZeroSpan = 32 * Places::kZeroBytes;

  Codes codes;
  // Where this thread's bytes are in those of a tile.
  unsigned first = kept(threadIdx.x % 128 * Planes::kFirst);
  unsigned second = kept(Planes::kSecondAt + threadIdx.x % 128 * Planes::kSecond);
  unsigned scale = kept(threadIdx.x % 128 / 4 * Places::kScaleBytes);
  unsigned zero = kept(threadIdx.x % 128 / 4 * Places::kZeroBytes);

  /// Of the tile whose codes, scales and zero points begin at these shared addresses; `tables` as
  /// CodeDecoder has them.
  __device__ __forceinline__ void read(Block& block, unsigned codes_at, unsigned scales_at,
                                       unsigned zeros_at, const float* const (&tables)[2]) const {
    HeldCodes<kBits> held;
    Groups groups;
    held.load(codes_at + first, codes_at + second, 0);
    groups.load(scales_at + scale, zeros_at + zero);
#pragma unroll
    for (int group = 0; group < Places::kTogether; ++group) {
      unsigned offsets[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        offsets[half] = Integers<kType>::offset(groups.integer_zero(group, half));
        block.scale[group][half] = groups.scale(group, half);
        if constexpr (kReal) block.fraction[group][half] = -groups.zero_fraction(group, half);
      }
#pragma unroll
      for (int i = 0; i < Places::kSteps; ++i) {
        const int step = group * Places::kSteps + i;
        codes.decode(block.a[step], held, step, offsets, tables);
        if constexpr (kScaling == kScaleWeights) multiply_step(block, step, block.scale[group]);
      }
      if constexpr (kScaling == kScaleInPlace) find_units(block, group);
    }
  }

 private:
  /// Puts units in the place of a group's scales: the scales themselves, but of those that would
  /// take sums out of the range of fp32 what is left when the weights have had, exactly, a power of
  /// two of them; and 1 for what no unit can be, which the weights have had too.
  static __device__ __forceinline__ void find_units(Block& block, int group) {
    float(&units)[2] = block.scale[group];
    if (__all_sync(0xffffffffU, may_be_unit(units[0]) && may_be_unit(units[1]))) return;
    float factors[2] = {1.0F, 1.0F};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float scale = units[half];
      if (may_be_unit(scale)) continue;
      const float size = fabsf(scale);
      const bool finite = size > 0 && size < __uint_as_float(0x7f800000U);
      factors[half] = finite ? power_of_two(size) : scale;
      units[half] = finite ? scale * reciprocal(factors[half]) : 1.0F;
    }
#pragma unroll
    for (int i = 0; i < Places::kSteps; ++i) {
      multiply_step(block, group * Places::kSteps + i, factors);
    }
  }

  static __device__ __forceinline__ bool may_be_unit(float scale) {
    return fabsf(scale) >= 0x1p-60F && fabsf(scale) <= 0x1p60F;
  }

  /// The largest that is not above x > 0 and by which can be divided.
  static __device__ __forceinline__ float power_of_two(float x) {
    return __uint_as_float(min(max(__float_as_uint(x) & 0x7f800000U, 0x00800000U), 0x7e000000U));
  }

  static __device__ __forceinline__ void multiply_step(Block& block, int step,
                                                       const float (&factors)[2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float s = factors[i % 2];
      const unsigned pair = pack<kType>(s, s);
      if constexpr (kType == kF16) {
        asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(block.a[step][i]) : "r"(pair));
      } else {
        asm("mul.rn.bf16x2 %0, %0, %1;" : "+r"(block.a[step][i]) : "r"(pair));
      }
    }
  }
};

}  // namespace gemwright_device
