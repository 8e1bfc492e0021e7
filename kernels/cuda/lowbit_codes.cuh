// Codes of a packed low-bit weight in registers: how a thread holds them, and how they become the
// A fragments of mma.sync m16n8k16 and wgmma m64k16. docs/formats.md says where everything lies.
//
// A thread has the codes of two rows (g and g + 8 of a warp's 16) and 16 columns of a block of 64:
// 16 pairs of neighbours in K, pair 4 * step + i for register i of a step of 16 columns.
#pragma once

#include "numeric.cuh"
#include "ptx.cuh"

namespace gemwright_device {

/// A value that the compiler is not to work out again where it is used: it does so for whatever
/// takes few instructions, which in a short loop are many.
__device__ __forceinline__ unsigned kept(unsigned x) {
  asm volatile("" : "+r"(x));
  return x;
}

// What a code stands for.
constexpr int kCodeInteger = 0;  // the code, minus a zero point
constexpr int kCodeE2m1 = 1;
constexpr int kCodeE4m3 = 2;
constexpr int kCodeE5m2 = 3;
constexpr int kCodeTable = 4;         // entry of the weight's table
constexpr int kCodeRowTable = 5;      // entry of the row's own table
constexpr int kCodeLookedUp = 6;      // the code minus 2^(bits - 1), but by way of a table
constexpr int kCodeHalfLookedUp = 7;  // every other step so, the others by arithmetic

/// What integers that become numbers by arithmetic are in units of.
template <int kType>
constexpr float kIntegerUnit = kType == kF16 ? 512.0F : 64.0F;

/// What a code stands for, zero points aside. `table` is the weight's or the row's.
template <int kCodes, int kBits = 8>
__device__ __forceinline__ float value_of_code(int code, const float* table) {
  if constexpr (kCodes == kCodeTable || kCodes == kCodeRowTable) {
    return table[code];
  } else if constexpr (kCodes == kCodeE2m1) {
    const int exponent = code >> 1 & 3;
    const float mantissa = static_cast<float>(code & 1) * 0.5F;
    const float magnitude = exponent == 0 ? mantissa : (1 + mantissa) * (1 << exponent) * 0.5F;
    return code >= 8 ? -magnitude : magnitude;
  } else if constexpr (kCodes == kCodeE4m3) {
    const unsigned magnitude = code & 0x7f;
    // The fields of an fp32 number that is too small by the difference of the biases.
    const float x = __uint_as_float(magnitude << 20) * 0x1p120F;
    const float y = magnitude == 0x7f ? __uint_as_float(0x7fffffffU) : x;
    return code >= 128 ? -y : y;
  } else if constexpr (kCodes == kCodeE5m2) {
    return to_float<kF16>(static_cast<unsigned short>(code << 8));
  } else {
    return static_cast<float>(code - (kCodes == kCodeInteger ? 0 : 1 << (kBits - 1)));
  }
}

/// How 64 rows x 64 columns lie: planes of code bits, in each of which a thread (of 128) has
/// adjacent bytes. 3-bit codes are planes of 2 bits and of 1; 8-bit ones two of 16 bytes a thread.
template <int kBits>
struct CodePlanes {
  static constexpr int kCount = kBits == 3 || kBits == 8 ? 2 : 1;
  /// Bytes of a thread in a plane.
  static constexpr int kFirst = kBits == 8 ? 16 : kBits == 3 ? 8 : 4 * kBits;
  static constexpr int kSecond = 4 * kBits - kFirst;
  /// Where the second begins.
  static constexpr int kSecondAt = 128 * kFirst;
  static constexpr int kTileBytes = 512 * kBits;
};

/// Reads 4, 8 or 16 bytes of shared memory, aligned to that.
template <int kBytes>
__device__ __forceinline__ void load_shared_words(unsigned* to, unsigned address) {
  if constexpr (kBytes == 4) {
    to[0] = load_shared(address);
  } else if constexpr (kBytes == 8) {
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  }
}

/// A thread's codes of a block of 64 columns.
template <int kBits>
struct HeldCodes {
  using Planes = CodePlanes<kBits>;
  unsigned w[kBits];

  /// Of thread `thread` in planes that begin at these shared addresses.
  __device__ __forceinline__ void load(unsigned first, unsigned second, int thread) {
    load_shared_words<Planes::kFirst>(w, first + thread * Planes::kFirst);
    if constexpr (Planes::kCount == 2) {
      load_shared_words<Planes::kSecond>(w + Planes::kFirst / 4, second + thread * Planes::kSecond);
    }
  }

  /// Of thread `thread` in a tile of global memory.
  __device__ __forceinline__ void load(const char* tile, int thread) {
    copy<Planes::kFirst>(w, tile + thread * Planes::kFirst);
    if constexpr (Planes::kCount == 2) {
      copy<Planes::kSecond>(w + Planes::kFirst / 4,
                            tile + Planes::kSecondAt + thread * Planes::kSecond);
    }
  }

  /// The code of the low (0) or high (1) half of register `i` of a step. kPaired: the two stand
  /// next to each other, else 16 bits apart.
  template <bool kPaired>
  __device__ __forceinline__ unsigned code(int step, int i, int half) const {
    if constexpr (kBits == 3) {
      return bits<2, kPaired>(w, 4 * step + i, half) | bits<1, kPaired>(w + 2, 4 * step + i, half)
                                                           << 2;
    } else {
      return bits<kBits, kPaired>(w, 4 * step + i, half);
    }
  }

  /// Bits of the paired codes of register `i` of a step, as the rows of PairTable are numbered; two
  /// 8-bit codes, low first.
  __device__ __forceinline__ unsigned pair(int step, int i) const {
    const int j = 4 * step + i;
    if constexpr (kBits == 2) {
      return w[j / 8] >> (4 * (j % 8)) & 15;
    } else if constexpr (kBits == 3) {
      return (w[j / 8] >> (4 * (j % 8)) & 15) | (w[2] >> (2 * j) & 3) << 4;
    } else if constexpr (kBits == 4) {
      return w[step] >> (8 * i) & 255;
    } else {
      return w[j / 2] >> (16 * (j % 2)) & 0xffff;
    }
  }

 private:
  template <int kBytes>
  static __device__ __forceinline__ void copy(unsigned* to, const char* from) {
    const Words<kBytes> words = load_global<kBytes>(from);
#pragma unroll
    for (int i = 0; i < kBytes / 4; ++i) to[i] = words.w[i];
  }

  /// As code_place of src/formats/packed_layout.hpp; pair `j` of the 16.
  template <int kPlane, bool kPaired>
  static __device__ __forceinline__ unsigned bits(const unsigned* plane, int j, int half) {
    constexpr int kPairs = 16 / kPlane;  // of a word
    const int place = j % kPairs;
    const int shift = kPaired ? 2 * kPlane * place + kPlane * half : kPlane * place + 16 * half;
    return plane[j / kPairs] >> shift & ((1U << kPlane) - 1);
  }
};

/// The code of the low (0) or high (1) half of a pair.
template <int kBits>
__device__ __forceinline__ int code_of_pair(unsigned pair, int half) {
  if constexpr (kBits == 3) {
    return static_cast<int>((pair >> (2 * half) & 3) | (pair >> (4 + half) & 1) << 2);
  } else {
    return static_cast<int>(pair >> (kBits * half) & ((1U << kBits) - 1));
  }
}

/// Values of all pairs of codes (of 8-bit codes: of each code, twice) in shared memory. A row for
/// each, of one copy in every bank, so that no two lanes meet. With rows of 256 bytes an address is
/// one byte permute, and their second halves are free for other uses.
template <int kType, int kBits, int kRowBytes_>
struct PairTable {
  static constexpr int kRows = kBits == 2 ? 16 : kBits == 3 ? 64 : 256;
  static constexpr int kRowBytes = kRowBytes_;
  static constexpr int kBytes = kRows * kRowBytes;

  char* rows;

  /// By `kThreads` threads, of which this is `thread`; a barrier follows.
  template <int kCodes, int kThreads>
  __device__ __forceinline__ void fill(const float* table, int thread) const {
    constexpr int kVectors = 8;  // a row
#pragma unroll
    for (int i = thread; i < kRows * kVectors; i += kThreads) {
      const int row = i / kVectors;
      const int low = kBits == 8 ? row : code_of_pair<kBits>(row, 0);
      const int high = kBits == 8 ? row : code_of_pair<kBits>(row, 1);
      constexpr float kUnit = kCodes == kCodeHalfLookedUp ? 1 / kIntegerUnit<kType> : 1.0F;
      const unsigned x = pack<kType>(value_of_code<kCodes, kBits>(low, table) * kUnit,
                                     value_of_code<kCodes, kBits>(high, table) * kUnit);
      store_shared(shared_address(rows + row * kRowBytes + i % kVectors * 16),
                   Words<16>{{x, x, x, x}});
    }
  }

  /// The A fragment of a step. `lane4` is 4 * lane.
  __device__ __forceinline__ void look_up(unsigned (&a)[4], const HeldCodes<kBits>& codes, int step,
                                          unsigned lane4) const {
    if constexpr (kBits == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = row(codes.w[step], i, lane4);
    } else if constexpr (kBits == 8) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned word = codes.w[2 * step + i / 2];
        const unsigned low = row(word, i % 2 * 2, lane4);
        const unsigned high = row(word, i % 2 * 2 + 1, lane4);
        a[i] = __byte_perm(low, high, 0x7610);
      }
    } else {
      // Registers 0 and 2, and 1 and 3, of two steps have their pairs in bytes of a word each.
      const unsigned word = codes.w[step / 2];
      unsigned even = word & 0x0f0f0f0fU;
      unsigned odd = word >> 4 & 0x0f0f0f0fU;
      if constexpr (kBits == 3) {
        const unsigned bits = codes.w[2] >> (16 * (step / 2));
        even |= spread(bits);
        odd |= spread(bits >> 2);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = row(i % 2 == 0 ? even : odd, step % 2 * 2 + i / 2, lane4);
    }
  }

 private:
  __device__ __forceinline__ unsigned row(unsigned numbers, int byte, unsigned lane4) const {
    unsigned offset = __byte_perm(numbers, lane4, 0x7704 + (byte << 4));
    if constexpr (kRowBytes != 256) offset = (numbers >> (8 * byte) & 255) * kRowBytes + lane4;
    return *reinterpret_cast<const unsigned*>(rows + offset);
  }

  /// Bits 0 and 1 of each of the low four nibbles to bits 4 and 5 of the bytes.
  static __device__ __forceinline__ unsigned spread(unsigned x) {
    const unsigned halves = (x & 0x33U) | (x & 0x3300U) << 8;
    return (halves & 0x00030003U) << 4 | (halves & 0x00300030U) << 8;
  }
};

/// Integers without a table: codes lie in the halves of a register as subnormal numbers, which one
/// fused multiply-add makes normal and takes the zero point off; exactly. Values are in units of
/// kUnit.
template <int kType>
struct Integers {
  static constexpr float kUnit = kIntegerUnit<kType>;

  /// -z in both halves, as decode wants it.
  static __device__ __forceinline__ unsigned offset(float z) {
    const float x = z * (-1 / kUnit);
    return pack<kType>(x, x);
  }

  /// The A fragment of a step. `offsets` are those of rows g and g + 8.
  template <int kBits>
  static __device__ __forceinline__ void decode(unsigned (&a)[4], const HeldCodes<kBits>& codes,
                                                int step, const unsigned (&offsets)[2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = normal(halves(codes, step, i), offsets[i % 2]);
  }

 private:
  /// Codes of register i in bits 0 and 16.
  template <int kBits>
  static __device__ __forceinline__ unsigned halves(const HeldCodes<kBits>& codes, int step,
                                                    int i) {
    if constexpr (kBits == 4) {
      const unsigned low = codes.w[step] & 0x0f0f0f0fU;
      const unsigned high = codes.w[step] >> 4 & 0x0f0f0f0fU;
      // Bytes low[i], 0, high[i], 0: a selector's bit 3 takes the sign bit, which is 0, eight
      // times. (__byte_perm would drop that bit.)
      unsigned x;
      asm("prmt.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(low), "r"(high), "r"(0xc480 + 0x1111 * i));
      return x;
    } else if constexpr (kBits == 8) {
      return __byte_perm(codes.w[2 * step + i / 2], 0, i % 2 == 0 ? 0x4140 : 0x4342);
    } else {
      const int j = 4 * step + i;
      const unsigned low = codes.w[j / 8] >> (2 * (j % 8)) & 0x00030003U;
      if constexpr (kBits == 2) return low;
      const unsigned bit = j < 2 ? codes.w[2] << (2 - j) : codes.w[2] >> (j - 2);
      return low | (bit & 0x00040004U);
    }
  }

  static __device__ __forceinline__ unsigned normal(unsigned x, unsigned offset) {
    unsigned y;
    if constexpr (kType == kF16) {
      asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(x), "r"(0x78007800U), "r"(offset));
    } else {
      asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(x), "r"(0x7f007f00U), "r"(offset));
    }
    return y;
  }
};

}  // namespace gemwright_device
