// GEMM with a packed low-bit weight by mma.sync, from sm_80 on: a multistage ring of activations,
// codes and scales (cp.async); a warp's codes become the 16-row operand in registers, activations
// the 8-column one. Scales are applied in fp32 to the sums of their group.
//
// The preamble gives: kType (of A: fp16 or bf16), kBits, kCodes, kScaleType, kGroup (columns that
// share a scale; 0: all of them), kZeros, kGlobalScale; kWarpsN (of kTiles * 16 weight rows each),
// kWarpsK (that share K, a block of 64 each), kTiles, kCols (rows of A, a multiple of 8), kStages;
// and of the epilogue kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias.
#include "epilogue.cuh"
#include "lowbit_weight.cuh"
#include "ptx_async.cuh"
#include "ptx_mma.cuh"
#include "reduce.cuh"
#include "scheduler.cuh"

namespace gemwright_device {

using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;
// Rows of 128 bytes: an address takes one instruction more, and half the memory, which is scarce.
using Decoder = CodeDecoder<kType, kBits, kCodes, 128>;
using Groups = HeldGroups<kType, kBits, kScaleType, kGroup, kZeros>;
using Places = Groups::Layout;
using Planes = CodePlanes<kBits>;

constexpr int kThreads = 32 * kWarpsN * kWarpsK;
constexpr int kRows = 16 * kTiles * kWarpsN;  // of the weight
constexpr int kWides = kRows / 64;
constexpr int kColBlocks = kCols / 8;
static_assert(kRows % 64 == 0);

/// A stage: activations, in lines that fall into all banks; then, for every block of 64 columns and
/// every 64 rows of the weight, codes, scales and zero points.
constexpr int kPitch = 128 * kWarpsK + 16;
constexpr int kScalesAt = Planes::kTileBytes;
constexpr int kZerosAt = kScalesAt + 32 * Places::kScaleBytes;
constexpr int kBlockBytes = kZerosAt + 32 * Places::kZeroBytes;
constexpr int kWeightsAt = kCols * kPitch;
constexpr int kStageBytes = kWeightsAt + kWarpsK * kWides * kBlockBytes;
/// Of the tile of D in shared memory, whose lines are rows of A.
constexpr int kSumPitch = kRows + 4;

/// Brings steps of kWarpsK blocks of K into the ring.
struct Producer {
  const LowbitTileParams& p;
  int row, wide;  // of the tile
  unsigned ring;

  __device__ __forceinline__ void fetch(int step, int slot) const {
    const unsigned stage = ring + slot * kStageBytes;
    fetch_activations(step * kWarpsK * 64, stage);
    const int first = step * kWarpsK;
    fetch_weights<Planes::kTileBytes>(
        first, p.weight.codes, stage + kWeightsAt, [&](int wide64, int block) {
          return static_cast<long long>(wide64) * p.weight.blocks + block;
        });
    const auto set = [&](int wide64, int block) {
      return static_cast<long long>(wide64) * p.weight.sets + Places::set_of(block);
    };
    fetch_weights<32 * Places::kScaleBytes>(first, p.weight.scales, stage + kWeightsAt + kScalesAt,
                                            set);
    if constexpr (kZeros != kZeroSymmetric) {
      fetch_weights<32 * Places::kZeroBytes>(first, p.weight.zeros, stage + kWeightsAt + kZerosAt,
                                             set);
    }
  }

 private:
  __device__ __forceinline__ void fetch_activations(int k, unsigned stage) const {
    constexpr int kChunks = 8 * kWarpsK;  // of a line
    const auto* a = static_cast<const Element<kType>*>(p.gemm.a);
#pragma unroll
    for (int i = threadIdx.x; i < kCols * kChunks; i += kThreads) {
      const int line = i / kChunks;
      const int column = k + i % kChunks * 8;
      const bool valid = row + line < p.gemm.m && column < p.gemm.k;
      const auto* from = a + (valid ? (row + line) * p.gemm.a_row + column : 0);
      copy_async_if<16>(stage + line * kPitch + i % kChunks * 16, from, valid);
    }
  }

  /// `kSpan` bytes of every 64 rows and block; index(wide, block) is their number.
  template <int kSpan, typename Index>
  __device__ __forceinline__ void fetch_weights(int block, const void* base, unsigned to,
                                                Index index) const {
    constexpr int kChunks = kSpan / 16;
    static_assert(kSpan % 16 == 0);
#pragma unroll
    for (int i = threadIdx.x; i < kWides * kWarpsK * kChunks; i += kThreads) {
      const int at = i / kChunks;  // number of the block in the stage
      const int column = block + at / kWides;
      const bool valid = column < p.weight.blocks;
      // Past the last 64 rows there is nothing to read; what is read instead is not stored.
      const int w = min(wide + at % kWides, (p.gemm.n - 1) / 64);
      const long long offset = valid ? index(w, column) * kSpan + i % kChunks * 16 : 0;
      copy_async_if<16>(to + at * kBlockBytes + i % kChunks * 16,
                        static_cast<const char*>(base) + offset, valid);
    }
  }
};

/// A warp's part of a tile: kTiles * 16 weight rows by kCols.
struct Product {
  const LowbitTileParams& p;
  Decoder decoder;
  int wk, wn;
  float acc[kTiles][kColBlocks][4] = {};

  /// acc += scale * (codes of a block x activations), group by group.
  __device__ __forceinline__ void add_block(unsigned stage, int first_tile) {
    HeldCodes<kBits> codes[kTiles];
    Groups groups[kTiles];
    const float* tables[kTiles][2];
    read(codes, groups, tables, stage, first_tile);
    float sum[kTiles][kColBlocks][4];
    float ones_sum[kColBlocks][4];  // of the activations, for real zero points
    unsigned x[kColBlocks][4];      // B fragments of two steps
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      if (step % 2 == 0) read_activations(x, stage, step / 2);
      const int group = step / Places::kSteps;
      const bool begins = step % Places::kSteps == 0;
      if constexpr (kZeros == kZeroReal) {
        constexpr unsigned kOne = kType == kF16 ? 0x3c003c00U : 0x3f803f80U;
        const unsigned ones[4] = {kOne, kOne, kOne, kOne};
        multiply_step(ones_sum, ones, x, step % 2, begins);
      }
#pragma unroll
      for (int r = 0; r < kTiles; ++r) {
        const unsigned offsets[2] = {Integers<kType>::offset(groups[r].integer_zero(group, 0)),
                                     Integers<kType>::offset(groups[r].integer_zero(group, 1))};
        unsigned a[4];
        decoder.decode(a, codes[r], step, offsets, tables[r]);
        multiply_step(sum[r], a, x, step % 2, begins);
      }
      if (step % Places::kSteps == Places::kSteps - 1) {
#pragma unroll
        for (int r = 0; r < kTiles; ++r) scale(acc[r], sum[r], ones_sum, groups[r], group);
      }
    }
  }

 private:
  __device__ __forceinline__ void read(HeldCodes<kBits> (&codes)[kTiles], Groups (&groups)[kTiles],
                                       const float* (&tables)[kTiles][2], unsigned stage,
                                       int first_tile) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < kTiles; ++r) {
      const int tile = wn * kTiles + r;  // of 16 rows, in the CTA's
      const unsigned block = stage + kWeightsAt + (wk * kWides + tile / 4) * kBlockBytes;
      const int pair = tile % 4 * 8 + lane / 4;
      codes[r].load(block, block + Planes::kSecondAt, tile % 4 * 32 + lane);
      groups[r].load(block + kScalesAt + pair * Places::kScaleBytes,
                     block + kZerosAt + pair * Places::kZeroBytes);
      if constexpr (Decoder::kByRow) {
        const int last = (p.gemm.n - 1) / 16;
        const int row = min(first_tile + tile, last) * 16 + lane / 4;
        tables[r][0] = p.weight.table + (static_cast<long long>(row) << kBits);
        tables[r][1] = tables[r][0] + (8LL << kBits);
      }
    }
  }

  __device__ __forceinline__ void read_activations(unsigned (&x)[kColBlocks][4], unsigned stage,
                                                   int half) const {
    const int lane = threadIdx.x % 32;
    const unsigned base = stage + lane % 8 * kPitch + wk * 128 + half * 64 + lane / 8 * 16;
#pragma unroll
    for (int c = 0; c < kColBlocks; ++c) load_matrix(x[c], base + c * 8 * kPitch);
  }

  static __device__ __forceinline__ void multiply_step(float (&sum)[kColBlocks][4],
                                                       const unsigned (&a)[4],
                                                       const unsigned (&x)[kColBlocks][4], int step,
                                                       bool begins) {
#pragma unroll
    for (int c = 0; c < kColBlocks; ++c) {
      if (begins) {
        multiply_first<kType>(sum[c], a, x[c][2 * step], x[c][2 * step + 1]);
      } else {
        multiply<kType>(sum[c], a[0], a[1], a[2], a[3], x[c][2 * step], x[c][2 * step + 1]);
      }
    }
  }

  static __device__ __forceinline__ void scale(float (&acc)[kColBlocks][4],
                                               const float (&sum)[kColBlocks][4],
                                               const float (&ones_sum)[kColBlocks][4],
                                               const Groups& groups, int group) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float s = groups.scale(group, i / 2);
#pragma unroll
      for (int c = 0; c < kColBlocks; ++c) {
        float x = sum[c][i];
        if constexpr (kZeros == kZeroReal) {
          const float fraction = groups.zero_fraction(group, i / 2) * (-1 / Decoder::kUnit);
          x = fmaf(fraction, ones_sum[c][i], x);
        }
        acc[c][i] = fmaf(s, x, acc[c][i]);
      }
    }
  }
};

/// Sums over the warps along K, in their order, to lines of D in shared memory.
__device__ __forceinline__ void gather(const Product& product, float* sums) {
  const int lane = threadIdx.x % 32;
#pragma unroll 1
  for (int wk = 0; wk < kWarpsK; ++wk) {
    if (product.wk == wk) {
#pragma unroll
      for (int r = 0; r < kTiles; ++r) {
#pragma unroll
        for (int c = 0; c < kColBlocks; ++c) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int m = 8 * c + lane % 4 * 2 + i % 2;
            const int n = (product.wn * kTiles + r) * 16 + lane / 4 + i / 2 * 8;
            float& at = sums[m * kSumPitch + n];
            at = product.acc[r][c][i] + (wk == 0 ? 0.0F : at);
          }
        }
      }
    }
    __syncthreads();
  }
}

}  // namespace gemwright_device

extern "C" __global__ void __launch_bounds__(gemwright_device::kThreads, 1)
    gemm_lowbit_mma(const __grid_constant__ gemwright_device::LowbitTileParams params) {
  using namespace gemwright_device;
  extern __shared__ __align__(128) char memory[];
  __shared__ unsigned arrival;
  const GemmParams& p = params.gemm;
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const Tile tile = tile_at(blockIdx.x, tiles_of(p.m, kCols), tiles_of(p.n, kRows), p);
  const int steps = (params.weight.blocks + kWarpsK - 1) / kWarpsK;
  const Range range = split_range(steps, p.splits, tile.split);

  char* const ring = memory + Decoder::kTableBytes;
  const Producer producer{params, tile.m * kCols, tile.n * kWides, shared_address(ring)};
#pragma unroll
  for (int i = 0; i + 1 < kStages; ++i) {
    if (range.begin + i < range.end) producer.fetch(range.begin + i, i);
    copy_commit();
  }
  Product product{params, {{memory}}, warp % kWarpsK, warp / kWarpsK};
  if constexpr (Decoder::kLookedUp) {
    product.decoder.table.fill<kCodes, kThreads>(params.weight.table, thread);
  }

  int slot = 0;
  int next = kStages - 1;
#pragma unroll 1
  for (int step = range.begin; step < range.end; ++step) {
    copy_wait<kStages - 2>();
    __syncthreads();
    if (step + kStages - 1 < range.end) producer.fetch(step + kStages - 1, next);
    copy_commit();
    if (step * kWarpsK + product.wk < params.weight.blocks) {
      product.add_block(shared_address(ring) + slot * kStageBytes, tile.n * (kRows / 16));
    }
    slot = slot + 1 == kStages ? 0 : slot + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  copy_wait<0>();
  __syncthreads();

  auto* sums = reinterpret_cast<float*>(ring);
  gather(product, sums);
  constexpr int kVectors = kCols * kRows / 4;
  constexpr int kHolders = kVectors < kThreads ? kVectors : kThreads;
  constexpr int kValues = 4 * kVectors / kHolders;
  float x[kValues];
  const auto line_of = [&](int i) { return (thread + i * kHolders) / (kRows / 4); };
  const auto row_of = [&](int i) { return (thread + i * kHolders) % (kRows / 4) * 4; };
  const float unit = Decoder::kUnit * (kGlobalScale ? *params.weight.global_scale : 1.0F);
#pragma unroll
  for (int i = 0; i < kValues / 4; ++i) {
    const float* from = sums + (thread < kHolders ? line_of(i) * kSumPitch + row_of(i) : 0);
#pragma unroll
    for (int j = 0; j < 4; ++j) x[4 * i + j] = from[j] * unit;
  }
  if (p.splits > 1 && !reduce_splits<kHolders>(p, tile.linear, tile.split, thread, x, &arrival)) {
    return;
  }
  if (thread >= kHolders) return;
#pragma unroll
  for (int i = 0; i < kValues / 4; ++i) {
    const float four[4] = {x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]};
    Output::store(p, 0, tile.m * kCols + line_of(i), tile.n * kRows + row_of(i), four);
  }
}
