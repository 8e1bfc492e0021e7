// Packed low-bit weights as e4m3: codes become the A fragments of wgmma m64k32 without rounding.
//
// A thread's codes of a row in 16 columns (HeldCodes: pairs 2q, 2q + 1 and 8 + 2q, 9 + 2q, with q =
// lane % 4) are four bytes of a register that stand for columns 4q to 4q + 3 of an instruction. So
// the order of K differs from the packed one inside 16 columns, and activations lie in the same:
// column 8h + 2q + p of 16 is byte 4q + 2h + p (quantise_rows.cuh).
#pragma once

#include "lowbit_weight.cuh"

namespace gemwright_device {

/// A whole number from -16 to 16, all of which e4m3 has.
__host__ __device__ constexpr unsigned e4m3_of_integer(int x) {
  const int magnitude = x < 0 ? -x : x;
  const unsigned sign = x < 0 ? 0x80 : 0;
  for (int exponent = 4; exponent >= 0; --exponent) {
    if (magnitude >> exponent == 0) continue;
    const int mantissa = (magnitude << 3 >> exponent) & 7;
    return sign | static_cast<unsigned>((exponent + 7) << 3 | mantissa);
  }
  return 0;
}

/// Codes from 4 * word on, minus a zero point, as e4m3.
__host__ __device__ constexpr unsigned e4m3_of_codes(int word, int zero) {
  unsigned x = 0;
  for (int i = 0; i < 4; ++i) x |= e4m3_of_integer(4 * word + i - zero) << (8 * i);
  return x;
}

/// The thread's number, read anew: a register less for what is known between two uses.
__device__ __forceinline__ unsigned thread_anew() {
  unsigned x;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  return x;
}

/// Bytes of a and b (numbers 0 to 3, and 4 to 7) by the four low nibbles of a selector, whose bits
/// 3 are 0.
__device__ __forceinline__ unsigned pick_bytes(unsigned a, unsigned b, unsigned selector) {
  unsigned x;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b), "r"(selector));
  return x;
}

/// e4m3 values of all codes of a row's group; of E2M1 the magnitudes.
struct ByteTable {
  unsigned w[4];
};

/// From codes of kBits to bytes. Tables of integers with zero points lie in shared memory, one for
/// each zero point: kTableBytes from an address that 16 divides.
template <int kBits, int kCodes, int kZeros>
struct ByteDecoder {
  static_assert(kZeros != kZeroReal, "codes minus a real number are not exact");
  static_assert(kCodes == kCodeInteger || kCodes == kCodeE2m1 || kCodes == kCodeE4m3);
  static constexpr bool kInMemory = kZeros == kZeroInteger;
  static constexpr int kTables = (1 << kBits) + 1;
  static constexpr int kTableBytes = kInMemory ? 16 * kTables : 0;

  /// By `kThreads` threads; a barrier follows.
  template <int kThreads>
  static __device__ __forceinline__ void fill(unsigned tables, int thread) {
    for (int i = thread; i < 4 * kTables; i += kThreads) {
      store_shared(tables + 4 * i, static_cast<int>(e4m3_of_codes(i % 4, i / 4)));
    }
  }

  static __device__ __forceinline__ ByteTable table(unsigned tables, int zero) {
    if constexpr (kInMemory) {
      ByteTable table;
      load_shared_words<16>(table.w, tables + 16 * zero);
      return table;
    } else if constexpr (kCodes == kCodeE2m1) {
      return {{0x3c383000U, 0x4c484440U}};
    } else {
      constexpr int kZero = kBits < 8 ? 1 << (kBits - 1) : 0;
      constexpr ByteTable kTable = {{e4m3_of_codes(0, kZero), e4m3_of_codes(1, kZero),
                                     e4m3_of_codes(2, kZero), e4m3_of_codes(3, kZero)}};
      return kTable;
    }
  }

  /// Row g (half 0) or g + 8 of step `step` (of 32 columns) of a block of 64: registers of the
  /// fragment for columns 0 to 15 and 16 to 31.
  static __device__ __forceinline__ void decode(unsigned& low, unsigned& high,
                                                const HeldCodes<kBits>& codes, int step, int half,
                                                const ByteTable& table) {
    if constexpr (kBits == 8) {
      const unsigned bytes = half == 0 ? 0x5410 : 0x7632;
      low = pick_bytes(codes.w[4 * step], codes.w[4 * step + 1], bytes);
      high = pick_bytes(codes.w[4 * step + 2], codes.w[4 * step + 3], bytes);
    } else if constexpr (kBits == 4) {
      const unsigned eight =
          pick_bytes(codes.w[2 * step], codes.w[2 * step + 1], half == 0 ? 0x6420 : 0x7531);
      if constexpr (kCodes == kCodeE2m1) {
        look_up_magnitudes(low, high, eight, table);
      } else {
        look_up(low, high, eight, table);
      }
    } else {
      // Columns 2q in the low half of a word, 2q + 1 in the high one.
      unsigned eight = codes.w[step] >> (2 * half) & 0x33333333U;
      if constexpr (kBits == 3) eight |= third_bits(codes.w[2] >> (8 * step + half));
      const unsigned even = pick_bytes(table.w[0], table.w[1], eight);
      const unsigned odd = pick_bytes(table.w[0], table.w[1], eight >> 16);
      low = pick_bytes(even, odd, 0x5140);
      high = pick_bytes(even, odd, 0x7362);
    }
  }

 private:
  /// Eight codes, in nibbles.
  static __device__ __forceinline__ void look_up(unsigned& low, unsigned& high, unsigned codes,
                                                 const ByteTable& table) {
    const unsigned inside = codes & 0x77777777U;
    const unsigned which = (codes >> 1 & 0x44444444U) | 0x32103210U;
    low = pick_bytes(pick_bytes(table.w[0], table.w[1], inside),
                     pick_bytes(table.w[2], table.w[3], inside), which);
    high = pick_bytes(pick_bytes(table.w[0], table.w[1], inside >> 16),
                      pick_bytes(table.w[2], table.w[3], inside >> 16), which >> 16);
  }

  static __device__ __forceinline__ void look_up_magnitudes(unsigned& low, unsigned& high,
                                                            unsigned codes,
                                                            const ByteTable& table) {
    constexpr unsigned kSigns = 0x80808080U;
    const unsigned inside = codes & 0x77777777U;
    const unsigned even = codes << 4;  // codes with even numbers have their signs in bits 7
    low = pick_bytes(table.w[0], table.w[1], inside) | (pick_bytes(even, codes, 0x5140) & kSigns);
    high = pick_bytes(table.w[0], table.w[1], inside >> 16) |
           (pick_bytes(even, codes, 0x7362) & kSigns);
  }

  /// Bits 0, 2, 4 and 6 of each half to bits 2, 6, 10 and 14.
  static __device__ __forceinline__ unsigned third_bits(unsigned x) {
    return (x & 0x00010001U) << 2 | (x & 0x00040004U) << 4 | (x & 0x00100010U) << 6 |
           (x & 0x00400040U) << 8;
  }
};

/// What one thread holds of 128 columns: fragments of four steps, and scales of the groups whose
/// sums are scaled.
template <int kGroups>
struct ByteWindow {
  unsigned a[4][4];
  float scale[kGroups][2];
};

/// Scales of E2M1 that are powers of two, made a part of the weights: those of the four groups that
/// a row has in a window, relative to the largest, which stays a factor. e4m3 holds E2M1 times 2^-5
/// to 2^6 with as many digits as 1 times it, so that groups may be 2^11 apart.
struct FoldedScales {
  static constexpr unsigned kMost = 11;
  static constexpr float kUnit = 0x1p-6F;
  static constexpr unsigned kFirst = 0x6c686000U, kSecond = 0x7c787470U;  // of the largest scale
  // Of groups 0 and 1 of both blocks, in halves; exponents, then what they are below the largest.
  unsigned below[2];
  unsigned largest;

  /// From the bytes of both blocks (groups of row g in bytes 0 and 2, of row g + 8 in 1 and 3).
  static __device__ __forceinline__ FoldedScales of(unsigned first, unsigned second, int half) {
    FoldedScales x;
    x.below[0] = first >> (8 * half) & 0x00ff00ffU;
    x.below[1] = second >> (8 * half) & 0x00ff00ffU;
    const unsigned most = larger(x.below[0], x.below[1]);
    const unsigned all = larger(most, __byte_perm(most, 0, 0x1032));
    x.largest = all & 0xff;
    x.below[0] = all - x.below[0];
    x.below[1] = all - x.below[1];
    return x;
  }

  /// Whether groups are farther apart than e4m3 reaches.
  __device__ __forceinline__ bool too_wide() const {
    constexpr unsigned kToSign = (0x8000U - (kMost + 1)) * 0x10001U;
    return (((below[0] + kToSign) | (below[1] + kToSign)) & 0x80008000U) != 0;
  }

  /// E2M1 magnitudes in units of the largest scale and kUnit.
  __device__ __forceinline__ ByteTable table(int block, int group) const {
    const unsigned steps = group == 0 ? below[block] & 0xffff : below[block] >> 16;
    return {{kFirst - steps * 0x08080800U, kSecond - steps * 0x08080808U}};
  }

  /// That of one group alone: the others' weights become zeros.
  __device__ __forceinline__ unsigned largest_of(int only) const {
    return largest - ((only < 2 ? below[0] : below[1]) >> (16 * (only % 2)) & 0xff);
  }

 private:
  static __device__ __forceinline__ unsigned larger(unsigned a, unsigned b) {
    unsigned x;
    asm("max.u16x2 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
    return x;
  }
};

/// Reads and decodes windows of two blocks. Sizes are of one block of 64 rows.
/// kMayFold: scales may become a part of the weights where they are powers of two.
template <int kBits, int kCodes, int kScaleType, int kGroup, int kZeros, bool kMayFold>
struct WindowDecoder {
  static_assert(kGroup == 0 || kGroup >= 32, "an instruction sums 32 columns");
  using Bytes = ByteDecoder<kBits, kCodes, kZeros>;
  using Groups = HeldGroups<kF16, kBits, kScaleType, kGroup, kZeros>;
  using Places = typename Groups::Layout;
  using Planes = CodePlanes<kBits>;
  /// Scales are folded into the weights.
  static constexpr bool kFolds =
      kMayFold && kCodes == kCodeE2m1 && kScaleType == kScaleE8m0 && kGroup == 32;
  /// Groups of a window whose sums are scaled (one, where the window is a part of a group), and
  /// sets of scales in memory.
  static constexpr int kGroups = kFolds || kGroup == 0 || kGroup >= 128 ? 1 : 128 / kGroup;
  static constexpr int kSets = kGroup == 64 || kGroup == 32 ? 2 : 1;
  using Window = ByteWindow<kGroups>;
  static constexpr int kCodeSpan = Planes::kTileBytes;
  static constexpr int kScaleSpan = 32 * Places::kScaleBytes;
  static constexpr int kZeroSpan = 32 * Places::kZeroBytes;

  unsigned tables;  // shared address

  /// What a thread has read of a window, of which the second block may be past K.
  struct Held {
    HeldCodes<kBits> codes[2];
    Groups groups[kSets];
  };

  /// Of the tile whose codes, scales and zero points begin at these shared addresses.
  __device__ __forceinline__ void load(Held& held, unsigned codes_at, unsigned scales_at,
                                       unsigned zeros_at) const {
    const unsigned thread = thread_anew() % 128;
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const unsigned at = codes_at + block * kCodeSpan;
      held.codes[block].load(at, at + Planes::kSecondAt, thread);
      if (block < kSets) {
        held.groups[block].load(scales_at + block * kScaleSpan + thread / 4 * Places::kScaleBytes,
                                zeros_at + block * kZeroSpan + thread / 4 * Places::kZeroBytes);
      }
    }
  }

  /// Whether a window's groups must be multiplied one by one (kFolds).
  static __device__ __forceinline__ bool too_wide(const Held& held, bool is_short) {
    return folded(held, is_short, 0).too_wide() || folded(held, is_short, 1).too_wide();
  }

  /// `only`: the group that is multiplied alone; negative: all are.
  __device__ __forceinline__ void decode(Window& window, const Held& held, bool is_short,
                                         int only) const {
    if constexpr (kFolds) {
      decode_folded(window, held, is_short, only);
    } else {
      decode_groups(window, held);
    }
    if (is_short) clear_second(window);
      // Now, and not where they are used: the compiler would put that off into the products' time.
#pragma unroll
    for (int i = 0; i < 16; ++i) window.a[i / 4][i % 4] = kept(window.a[i / 4][i % 4]);
  }

 private:
  __device__ __forceinline__ void decode_groups(Window& window, const Held& held) const {
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const Groups& own = held.groups[kSets == 1 ? 0 : block];
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        const int group = Places::kTogether == 2 ? step : 0;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          unsigned(&a)[4] = window.a[2 * block + step];
          const ByteTable table = Bytes::table(tables, zero_of(own, group, half));
          Bytes::decode(a[half], a[2 + half], held.codes[block], step, half, table);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        window.scale[i][half] =
            held.groups[i / Places::kTogether].scale(i % Places::kTogether, half);
      }
    }
  }

  /// Of a block past K nothing is known: the first one's exponents do not matter there.
  static __device__ __forceinline__ FoldedScales folded(const Held& held, bool is_short, int half) {
    const unsigned first = held.groups[0].scales.w[0];
    return FoldedScales::of(first, is_short ? first : held.groups[kSets - 1].scales.w[0], half);
  }

  static __device__ __forceinline__ void decode_folded(Window& window, const Held& held,
                                                       bool is_short, int only) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const FoldedScales scales = folded(held, is_short, half);
      unsigned largest = scales.largest;
      if (only >= 0) largest = scales.largest_of(only);
      const unsigned bits = max(largest << 23, 0x400000U);  // 2^-127 is subnormal
      const float unit = __uint_as_float(bits);
      window.scale[0][half] = fmaf(unit, 0.0F, unit) * FoldedScales::kUnit;  // 255 is NaN
#pragma unroll
      for (int group = 0; group < 4; ++group) {
        ByteTable table = scales.table(group / 2, group % 2);
        if (only >= 0) {
          table.w[0] = only == group ? FoldedScales::kFirst : 0;
          table.w[1] = only == group ? FoldedScales::kSecond : 0;
        }
        unsigned(&a)[4] = window.a[group];
        Bytes::decode(a[half], a[2 + half], held.codes[group / 2], group % 2, half, table);
      }
    }
  }

  /// A byte past K, or of a weight that is broken, is no zero point.
  static __device__ __forceinline__ int zero_of(const Groups& groups, int group, int half) {
    if constexpr (kZeros != kZeroInteger) return 0;
    const int i = 2 * group + half;
    return static_cast<int>(min(groups.zeros.w[i / 4] >> (8 * (i % 4)) & 0xff, 1U << kBits));
  }

  static __device__ __forceinline__ void clear_second(Window& window) {
#pragma unroll
    for (int i = 0; i < 4; ++i) window.a[2][i] = window.a[3][i] = 0;
#pragma unroll
    for (int i = (kGroups + 1) / 2; i < kGroups; ++i) window.scale[i][0] = window.scale[i][1] = 0;
  }
};

}  // namespace gemwright_device
