// Mainloop of wgmma kernels whose A operand is a packed low-bit weight: codes wait in the ring
// beside the activations (B) and become the register operand while the block before is multiplied.
#pragma once

#include "lowbit_weight.cuh"
#include "mainloop_wgmma.cuh"

namespace gemwright_device {

/// How scales come in. Rounding code * scale to 16 bits is exact for some formats, whose weights
/// are scaled; for others the sum of a group is, in fp32; and where all of a row share a scale,
/// what is stored.
constexpr int kScaleWeights = 0;
constexpr int kScaleSums = 1;
constexpr int kScaleRows = 2;

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
        if constexpr (kScaling == kScaleWeights) multiply_by_scale(block, step, group);
      }
    }
  }

 private:
  static __device__ __forceinline__ void multiply_by_scale(Block& block, int step, int group) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float s = block.scale[group][i % 2];
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
