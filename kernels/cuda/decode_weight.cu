// Decodes a packed low-bit weight to a plain one of 16 bits, K contiguous, for a dense product to
// read: where every number is exact in that type (src/families/cuda_lowbit/cuda_lowbit_decoded.cpp
// says which are). Bound by memory: it writes 2 bytes for each code.
//
// A CTA takes 64 rows and up to kBlocks blocks of 64 columns. Codes of a block come to the threads
// as they lie, in the order of the matrix unit; by way of shared memory they leave in rows.
//
// The preamble defines: kType, kBits, kCodes, kScaleType, kGroup, kZeros (see lowbit_weight.cuh),
// kPaired (codes of neighbours stand next to each other). Scales of groups become a part of the
// numbers; one of a row, or of the whole weight, a factor of the row.
#include "lowbit_weight.cuh"
#include "ptx_hopper.cuh"

namespace gemwright_device {

static_assert(kZeros != kZeroReal && (kType == kF16 || kType == kBf16));

constexpr int kThreads = 128;
constexpr int kBlocks = 4;
constexpr int kEntries = 1 << kBits;
/// Numbers of all codes in shared memory: other codes take fewer instructions to compute.
constexpr bool kTable = kCodes == kCodeTable || (kCodes == kCodeE2m1 && kBits == 4);
using Groups = HeldGroups<kType, kBits, kScaleType, kGroup, kZeros>;
using Layout = Groups::Layout;
constexpr bool kScaled = kGroup > 0;  // numbers are

/// What a thread has of a block.
struct Coded {
  HeldCodes<kBits> codes;
  Groups groups;

  __device__ __forceinline__ void load(const LowbitWeight& weight, long long wide, int block,
                                       int thread) {
    const auto* tiles = static_cast<const char*>(weight.codes);
    codes.load(tiles + (wide * weight.blocks + block) * CodePlanes<kBits>::kTileBytes, thread);
    const long long pair = (wide * weight.sets + Layout::set_of(block)) * 32 + thread / 4;
    groups.scales.load(static_cast<const char*>(weight.scales) + pair * Layout::kScaleBytes);
    if constexpr (kZeros != kZeroSymmetric) {
      groups.zeros.load(static_cast<const char*>(weight.zeros) + pair * Layout::kZeroBytes);
    }
  }
};

/// What codes stand for, in fp32.
struct Numbers {
  float* table;             // in shared memory
  const float* of_rows[2];  // of rows g and g + 8, where each has its own

  __device__ __forceinline__ void fill(const LowbitWeight& weight, int thread) const {
    if constexpr (kTable) {
      for (int i = thread; i < kEntries; i += kThreads) {
        table[i] = rounded(value_of_code<kCodes, kBits>(i, weight.table));
      }
    }
  }

  /// `half`: row g or g + 8.
  __device__ __forceinline__ float of(unsigned code, const Groups& groups, int group,
                                      int half) const {
    if constexpr (kTable) {
      return table[code];
    } else if constexpr (kCodes == kCodeRowTable) {
      return rounded(of_rows[half][code]);
    } else if constexpr (kCodes == kCodeInteger) {
      constexpr float kBase = 0x1p23F;  // the code is its lowest bits
      return __uint_as_float(__float_as_uint(kBase) | code) -
             (kBase + groups.integer_zero(group, half));
    } else {
      return value_of_code<kCodes, kBits>(static_cast<int>(code), nullptr);
    }
  }

 private:
  static __device__ __forceinline__ float rounded(float x) {
    return to_float<kType>(from_float<kType>(x));
  }
};

/// Where 16 bytes of a row of 128 lie, so that neither what is written by fragments nor what is
/// read by rows meets in a bank.
__device__ __forceinline__ unsigned place(int row, int chunk) {
  return row * 128 + (chunk ^ row % 8) * 16;
}

/// To a warp's 16 rows of 64 columns in shared memory.
__device__ __forceinline__ void decode(const Coded& block, const Numbers& numbers, unsigned rows,
                                       int lane) {
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    const int group = step / Layout::kSteps;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i % 2;
      const float scale = kScaled ? block.groups.scale(group, half) : 1.0F;
      float x[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const unsigned code = block.codes.code<kPaired>(step, i, j);
        x[j] = numbers.of(code, block.groups, group, half) * scale;
      }
      const unsigned to = rows + place(lane / 4 + 8 * half, 2 * step + i / 2) + lane % 4 * 4;
      store_shared(to, static_cast<int>(pack<kType>(x[0], x[1])));
    }
  }
}

/// Factors of a warp's rows.
__device__ __forceinline__ void store_factors(const DecodeParams& p, const Coded& block,
                                              long long row, int lane) {
  const float all = kGlobalScale ? *p.weight.global_scale : 1.0F;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const long long at = row + lane / 4 + 8 * half;
    if (lane % 4 == 0 && at < p.n) {
      p.factors[at] = all * (kScaled ? 1.0F : block.groups.scale(0, half));
    }
  }
}

/// From there to memory; `column` is the block's first.
__device__ __forceinline__ void store(const DecodeParams& p, unsigned rows, long long row,
                                      int column, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int r = i * 4 + lane / 8;
    const int chunk = lane % 8;
    if (row + r >= p.n || column + chunk * 8 >= p.pitch) continue;
    Words<16> words;
    load_shared_words<16>(words.w, rows + place(r, chunk));
    auto* to = static_cast<Element<kType>*>(p.out) + (row + r) * p.pitch + column + chunk * 8;
    store_global(to, words);
  }
}

}  // namespace gemwright_device

extern "C" __global__ void __launch_bounds__(gemwright_device::kThreads)
    decode_weight(const __grid_constant__ gemwright_device::DecodeParams p) {
  using namespace gemwright_device;
  __shared__ float table[kTable ? kEntries : 1];
  __shared__ __align__(128) char rows[kThreads / 32][16 * 128];
  if constexpr (__CUDA_ARCH__ >= 900) {
    wait_for_previous_kernel();  // it may still read what is written here
    launch_next_kernel();
  }
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int along_k = (p.weight.blocks + kBlocks - 1) / kBlocks;
  const long long wide = blockIdx.x / along_k;
  const int first = static_cast<int>(blockIdx.x % along_k) * kBlocks;

  Coded blocks[kBlocks];
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {  // past the last one the last once more
    blocks[i].load(p.weight, wide, min(first + i, p.weight.blocks - 1), thread);
  }
  const long long row = wide * 64 + warp * 16;
  const float* own = p.weight.table + ((row + lane / 4) << kBits);
  const Numbers numbers{table, {own, own + (8LL << kBits)}};
  numbers.fill(p.weight, thread);
  if constexpr (kTable) __syncthreads();
  if constexpr (kGlobalScale || !kScaled) {
    if (first == 0) store_factors(p, blocks[0], row, lane);
  }

#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    if (first + i >= p.weight.blocks) return;
    decode(blocks[i], numbers, shared_address(rows[warp]), lane);
    __syncwarp();
    store(p, shared_address(rows[warp]), row, (first + i) * 64, lane);
    __syncwarp();
  }
}
