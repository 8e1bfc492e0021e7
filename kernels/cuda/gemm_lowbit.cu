// GEMM with a packed low-bit weight and few rows of A: codes stream from memory through a ring
// of each warp's own, become A fragments of mma.sync by table lookup, and meet activations that
// wait in shared memory. Scales are applied in fp32, to the sums of their group. sm_90.
//
// A cluster takes an equal share of the 16-row tiles of the weight, in passes of kWarpsN * kTiles;
// its CTAs share K, and so do the kWarpsK warps (times kWarpsN) of each, a block of 64 at a time.
//
// The preamble gives: kType (of A: fp16 or bf16), kBits, kCodes, kScaleType, kGroup (columns that
// share a scale; 0: all of them), kGlobalScale, kZeros; kWarpsK, kWarpsN, kTiles (of 16 weight
// rows, a warp and pass), kStages (blocks of K in flight, and one in use), kCols (rows of A, a
// multiple of 8), kSplit (CTAs of a cluster), kCtas (resident a multiprocessor), kBulk (A is read
// by bulk copies: K contiguous, rows of whole 16 bytes); and of the epilogue kTypeD, kWidth, kHasC,
// kTypeC, kBias, kTypeBias.
#include "epilogue.cuh"
#include "lowbit_weight.cuh"
#include "mma_fragments.cuh"
#include "ptx_hopper.cuh"
#include "scheduler.cuh"

namespace gemwright_device {

using Output = Epilogue<kTypeD, kWidth, kHasC, kTypeC, kBias, kTypeBias>;

using Decoder = CodeDecoder<kType, kBits, kCodes>;
using Groups = HeldGroups<kType, kBits, kScaleType, kGroup, kZeros>;
using GroupPlaces = Groups::Layout;
using Planes = CodePlanes<kBits>;

constexpr int kWarps = kWarpsK * kWarpsN;
constexpr int kThreads = 32 * kWarps;
constexpr int kColBlocks = kCols / 8;
constexpr int kSliceK = 64 * kWarpsK;       // of K that all warps take at a time
constexpr int kPitch = kSliceK * 2 + 16;    // of a row of A; rows of 8 fall into all banks
constexpr int kSlotBytes = kCols * kPitch;  // of the ring of activations
constexpr int kMaxSlots = 32;
constexpr int kTogether = GroupPlaces::kTogether;
constexpr int kTileFloats = 16 * kCols;  // of a tile of D

/// Where the sums of the warps meet: in the free halves of a table of 256 rows, else behind it.
struct SumSpace {
  static constexpr bool kInTable = Decoder::kLookedUp && Decoder::Table::kRows == 256;
  static constexpr int kFloats = 256 * 32;
  /// Of the table and the sums.
  static constexpr int kBytes = Decoder::kTableBytes + (kInTable ? 0 : 4 * kFloats);

  char* memory;

  __device__ __forceinline__ float* at(int i) const {
    if constexpr (!kInTable) return reinterpret_cast<float*>(memory + Decoder::kTableBytes) + i;
    constexpr int kRow = Decoder::Table::kRowBytes;
    return reinterpret_cast<float*>(memory + i / 32 * kRow + kRow / 2 + i % 32 * 4);
  }
};

/// Tiles of each warp whose sums are added up at a time.
constexpr int kRound = SumSpace::kFloats / (kWarps * kTileFloats);
static_assert(kRound > 0);

struct Shared {
  Barrier full[kMaxSlots];
  Barrier empty[kMaxSlots];
  Barrier weights[kWarps * kStages];
};
constexpr int kSharedBytes = 2048;
static_assert(sizeof(Shared) <= kSharedBytes);

/// The part of K, the tiles and the passes of a CTA and a warp.
struct Work {
  int rank;         // in the cluster
  int begin, end;   // blocks of K
  int steps;        // of kWarpsK blocks
  int turn;         // number of the step taken first
  int first, last;  // tiles
  int wk, wn;       // warp along K and along N

  /// First block of K of a step. CTAs begin at different ones: all read the same activations, and
  /// would else ask the same few slices of L2 for them at the same time.
  __device__ __forceinline__ int block_of(int step) const {
    const int at = step + turn;
    return begin + (at < steps ? at : at - steps) * kWarpsK;
  }
};

__device__ __forceinline__ Work work_of(const LowbitParams& p) {
  Work work;
  work.rank = kSplit > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int share = tiles_of(p.weight.blocks, kSplit);
  work.begin = work.rank * share;
  work.end = min(p.weight.blocks, work.begin + share);
  work.steps = tiles_of(share, kWarpsK);
  const unsigned scattered = blockIdx.x / kSplit * 0x9e3779b1U;
  work.turn = static_cast<int>(__umulhi(scattered, static_cast<unsigned>(work.steps)));
  work.first = static_cast<int>(blockIdx.x) / kSplit * p.share;
  work.last = min(p.tiles, work.first + p.share);
  const int warp = threadIdx.x / 32;
  work.wk = warp % kWarpsK;
  work.wn = warp / kWarpsK;
  return work;
}

/// A warp's own ring of codes and scales: kStages blocks of K of its kTiles tiles. By bulk copies,
/// which cost neither registers nor the load pipe's time, that table lookups need. The positions of
/// what is being copied run ahead of those of what is used, into the next pass too.
struct Stream {
  // Bytes of a tile in each of the stage's parts, and where those begin.
  static constexpr int kFirstSpan = 32 * Planes::kFirst;
  static constexpr int kSecondSpan = 32 * Planes::kSecond;
  static constexpr int kScaleSpan = 8 * GroupPlaces::kScaleBytes;
  static constexpr int kZeroSpan = 8 * GroupPlaces::kZeroBytes;
  static constexpr int kTileBytes = kFirstSpan + kSecondSpan + kScaleSpan + kZeroSpan;
  static constexpr int kSecondAt = kTiles * kFirstSpan;
  static constexpr int kScalesAt = kSecondAt + kTiles * kSecondSpan;
  static constexpr int kZerosAt = kScalesAt + kTiles * kScaleSpan;
  static constexpr int kStageBytes = kTiles * kTileBytes;
  /// 16-row tiles lie four in one of 64 rows, so that a warp's lie in that many pieces.
  static constexpr int kPieces = (kTiles + 6) / 4;

  const LowbitWeight& weight;
  const Work& work;
  Barrier* full;  // of a stage
  unsigned ring;
  int lane;
  int passes;          // left to copy
  int tile;            // of the pass
  int step = 0;        // to copy
  int to = 0, at = 0;  // stages to copy to and to use
  int parity = 0;      // of the use

  // This lane's piece: tiles from `begin` on, of the one of 64 rows numbered `wide`.
  int wide, begin, count;

  __device__ __forceinline__ Stream(const LowbitParams& p, const Work& w, Barrier* barriers,
                                    char* memory)
      : weight(p.weight), work(w), lane(threadIdx.x % 32), passes(p.passes) {
    const int warp = threadIdx.x / 32;
    full = barriers + warp * kStages;
    ring = shared_address(memory) + warp * (kStages * kStageBytes);
    tile = work.first + work.wn * kTiles;
    if (lane < kStages) barrier_init(&full[lane], 1);
    fence_barrier_init();
    __syncwarp();
    take_piece();
  }

  /// Copies the next step, if there is one. All lanes are done with the stage that it goes to.
  __device__ __forceinline__ void copy_step() {
    const int block = work.block_of(step) + work.wk;
    if (passes > 0 && block < work.end) copy_block(block);
    to = to + 1 == kStages ? 0 : to + 1;
    if (++step >= work.steps) {
      step = 0;
      --passes;
      tile += kWarpsN * kTiles;
      take_piece();
    }
  }

  __device__ __forceinline__ void wait() const { barrier_wait(&full[at], parity); }

  /// `used`: the stage has been waited for, its barrier is in the next phase.
  __device__ __forceinline__ void next(bool used) {
    // Parities of stages that blocks past the end skip would no longer be alike, so that such a
    // stage is marked as if it had been copied.
    if (!used && lane == 0) barrier_arrive(&full[at]);
    if (++at == kStages) at = 0, parity ^= 1;
  }

  __device__ __forceinline__ void read(HeldCodes<kBits>& codes, Groups& groups, int r) const {
    const unsigned stage = ring + at * kStageBytes;
    codes.load(stage + r * kFirstSpan, stage + kSecondAt + r * kSecondSpan, lane);
    const int pair = lane / 4;
    groups.load(stage + kScalesAt + r * kScaleSpan + pair * GroupPlaces::kScaleBytes,
                stage + kZerosAt + r * kZeroSpan + pair * GroupPlaces::kZeroBytes);
  }

 private:
  __device__ __forceinline__ int tiles_left() const {
    return max(0, min(kTiles, work.last - tile));
  }

  __device__ __forceinline__ void take_piece() {
    wide = tile / 4 + lane;
    begin = max(tile, 4 * wide);
    count = lane < kPieces ? min(tile + tiles_left(), 4 * wide + 4) - begin : 0;
  }

  __device__ __forceinline__ void copy_block(int block) const {
    if (lane == 0) {
      barrier_arrive_expect(&full[to], static_cast<unsigned>(tiles_left() * kTileBytes));
    }
    __syncwarp();
    if (count <= 0) return;
    const unsigned stage = ring + to * kStageBytes;
    const long long codes =
        (static_cast<long long>(wide) * weight.blocks + block) * Planes::kTileBytes;
    copy_span<kFirstSpan>(stage, weight.codes, codes);
    copy_span<kSecondSpan>(stage + kSecondAt, weight.codes, codes + Planes::kSecondAt);
    const long long set = static_cast<long long>(wide) * weight.sets + GroupPlaces::set_of(block);
    copy_span<kScaleSpan>(stage + kScalesAt, weight.scales, set * 4 * kScaleSpan);
    copy_span<kZeroSpan>(stage + kZerosAt, weight.zeros, set * 4 * kZeroSpan);
  }

  /// `kSpan` bytes a tile, of the 64 rows whose bytes begin `offset` after `from`.
  template <int kSpan>
  __device__ __forceinline__ void copy_span(unsigned area, const void* from,
                                            long long offset) const {
    if constexpr (kSpan > 0) {
      copy_line(area + (begin - tile) * kSpan,
                static_cast<const char*>(from) + offset + begin % 4 * kSpan, count * kSpan,
                &full[to], kEvictFirst);
    }
  }
};

/// The ring of slices of A: slots of kCols rows by kSliceK columns. All slices stay where they fit;
/// else they go round, once a pass.
struct Activations {
  const LowbitParams& p;
  const Work& work;
  Shared& shared;
  char* ring;
  int first_row;
  int rows;
  bool resident;
  int slot = 0;
  int parity = 0;
  int turn = 0;       // slices used so far
  int fills;          // slices asked for so far
  int fill_step = 0;  // the next to ask for
  int wanted;         // slices in all

  __device__ __forceinline__ Activations(const LowbitParams& params, const Work& w, Shared& s,
                                         char* memory)
      : p(params), work(w), shared(s), ring(memory) {
    first_row = static_cast<int>(blockIdx.y) * kCols;
    rows = min(kCols, p.gemm.m - first_row);
    resident = work.steps <= p.slots;
    wanted = resident ? work.steps : work.steps * p.passes;
    fills = min(p.slots, wanted);
    fill_step = fills;  // after start()
  }

  /// The first warp fills all slots.
  __device__ __forceinline__ void start() {
    for (fill_step = 0; fill_step < fills; ++fill_step) fill(fill_step);
  }

  __device__ __forceinline__ void begin_pass() {
    if (resident) slot = 0, parity = 0;
  }

  __device__ __forceinline__ void wait() const { barrier_wait(&shared.full[slot], parity); }

  /// Done with the slot; one warp in turn fills the one before, which the others have left by now.
  __device__ __forceinline__ void next() {
    if (!resident) {
      __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(&shared.empty[slot]);
      if (turn > 0 && fills < wanted) {
        if (static_cast<int>(threadIdx.x) / 32 == turn % kWarps) {
          const int previous = slot == 0 ? p.slots - 1 : slot - 1;
          barrier_wait(&shared.empty[previous], slot == 0 ? parity ^ 1 : parity);
          fill(previous);
        }
        if (++fill_step == work.steps) fill_step = 0;
        ++fills;
      }
    }
    ++turn;
    if (++slot == p.slots) slot = 0, parity ^= 1;
  }

  /// B fragments of four steps from column 64 * wk of the slice: fragment [c][2 * step + half].
  __device__ __forceinline__ void read(unsigned (&x)[kColBlocks][8]) const {
    const int lane = threadIdx.x % 32;
    const unsigned base = shared_address(ring + slot * kSlotBytes) + lane % 8 * kPitch +
                          work.wk * 128 + lane / 8 * 16;
#pragma unroll
    for (int c = 0; c < kColBlocks; ++c) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        unsigned quad[4];
        load_matrix(quad, base + c * 8 * kPitch + h * 64);
#pragma unroll
        for (int i = 0; i < 4; ++i) x[c][4 * h + i] = quad[i];
      }
    }
  }

 private:
  /// By one whole warp. Columns past K are zero where they share a block with some before.
  __device__ __forceinline__ void fill(int to) const {
    const int lane = threadIdx.x % 32;
    const int k = work.block_of(fill_step) * 64;
    const int columns = min(min(p.gemm.k, work.end * 64) - k, kSliceK);
    char* const memory = ring + to * kSlotBytes;
    const auto* a = static_cast<const Element<kType>*>(p.gemm.a);
    if constexpr (kBulk) {
      if (lane == 0) {
        barrier_arrive_expect(&shared.full[to], static_cast<unsigned>(max(columns, 0) * 2 * rows));
      }
      __syncwarp();
      if (columns <= 0) return;
      for (int m = lane; m < rows; m += 32) {
        copy_line(shared_address(memory + m * kPitch), a + (first_row + m) * p.gemm.a_row + k,
                  columns * 2, &shared.full[to], kEvictLast);
      }
    } else {
      const int padded = min(tiles_of(max(columns, 0), 64) * 64, kSliceK);
      for (int m = 0; m < rows; ++m) {
        auto* line = reinterpret_cast<Element<kType>*>(memory + m * kPitch);
        for (int j = lane; j < padded; j += 32) {
          const int at = p.weight.order == nullptr ? k + j : p.weight.order[k + j];
          const bool real = j < columns && at >= 0;
          line[j] =
              real ? a[(first_row + m) * p.gemm.a_row + at * p.gemm.a_col] : Element<kType>(0);
        }
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(&shared.full[to]);
    }
  }
};

/// Sums of the activations of each group of a block: of columns 2t and 2t + 1 of every 8.
struct ActivationSums {
  float sum[kTogether][kColBlocks][2];

  __device__ __forceinline__ explicit ActivationSums(const unsigned (&x)[kColBlocks][8]) {
    constexpr unsigned kOne = kType == kF16 ? 0x3c003c00U : 0x3f803f80U;
    const unsigned ones[4] = {kOne, kOne, kOne, kOne};
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const int group = step / GroupPlaces::kSteps;
#pragma unroll
      for (int c = 0; c < kColBlocks; ++c) {
        float part[4];
        multiply_first<kType>(part, ones, x[c][2 * step], x[c][2 * step + 1]);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          sum[group][c][i] = part[i] + (step % GroupPlaces::kSteps == 0 ? 0 : sum[group][c][i]);
        }
      }
    }
  }
};

/// acc += scale * (codes of one block x activations), group by group.
__device__ __forceinline__ void multiply_block(float (&acc)[kColBlocks][4], const Stream& stream,
                                               int r, const Decoder& decoder,
                                               const float* const (&tables)[2],
                                               const unsigned (&x)[kColBlocks][8],
                                               const ActivationSums* activations) {
  HeldCodes<kBits> codes;
  Groups groups;
  stream.read(codes, groups, r);
#pragma unroll
  for (int group = 0; group < kTogether; ++group) {
    const unsigned offsets[2] = {Integers<kType>::offset(groups.integer_zero(group, 0)),
                                 Integers<kType>::offset(groups.integer_zero(group, 1))};
    float sum[kColBlocks][4];
#pragma unroll
    for (int i = 0; i < GroupPlaces::kSteps; ++i) {
      const int step = group * GroupPlaces::kSteps + i;
      unsigned a[4];
      decoder.decode(a, codes, step, offsets, tables);
#pragma unroll
      for (int c = 0; c < kColBlocks; ++c) {
        if (i == 0) {
          multiply_first<kType>(sum[c], a, x[c][2 * step], x[c][2 * step + 1]);
        } else {
          multiply<kType>(sum[c], a[0], a[1], a[2], a[3], x[c][2 * step], x[c][2 * step + 1]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float scale = groups.scale(group, i / 2);
#pragma unroll
      for (int c = 0; c < kColBlocks; ++c) {
        if constexpr (kZeros == kZeroReal) {
          const float fraction = groups.zero_fraction(group, i / 2) * (-1 / Decoder::kUnit);
          sum[c][i] = fmaf(fraction, activations->sum[group][c][i % 2], sum[c][i]);
        }
        acc[c][i] = fmaf(scale, sum[c][i], acc[c][i]);
      }
    }
  }
}

/// Zeroes what lies past K in the last block.
__device__ __forceinline__ void mask_end(unsigned (&x)[kColBlocks][8], int left) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int k = 8 * i + 2 * t;
#pragma unroll
    for (int c = 0; c < kColBlocks; ++c) {
      if (k >= left) x[c][i] = 0;
      if (k + 1 == left) x[c][i] &= 0xffff;
    }
  }
}

/// One float into another CTA's shared memory; a cluster barrier makes it visible.
__device__ __forceinline__ void put_remote(const float* place, int rank, float x) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(remote_address(place, rank)), "f"(x)
               : "memory");
}

/// Sums of a pass on their way to D: over the warps along K, then over the CTAs of the cluster.
struct Reduction {
  const LowbitParams& p;
  const Work& work;
  const SumSpace& sums;
  float* gathered;  // [parity of the pass][CTA][tile of the pass][row of A][weight row]
  int first_row, rows;
  float scale;  // of the whole weight

  static constexpr int kPassTiles = kWarpsN * kTiles;

  __device__ __forceinline__ float* gathered_at(int pass, int from, int index, int m,
                                                int row) const {
    return gathered + ((pass % 2 * kSplit + from) * kPassTiles + index) * kTileFloats + m * 16 +
           row;
  }

  __device__ __forceinline__ void store(int pass, int index, int m, int row, float sum) const {
    const int tile = work.first + pass * kPassTiles + index;
    const int n = tile * 16 + row;
    const float x[1] = {sum * scale};
    if (tile < work.last && n < p.gemm.n) Output::store(p.gemm, 0, first_row + m, n, x);
  }

  __device__ __forceinline__ void run(const float (&acc)[kTiles][kColBlocks][4], int pass) const {
    constexpr int kStep = kRound < kTiles ? kRound : kTiles;
#pragma unroll
    for (int first = 0; first < kTiles; first += kStep) {
      constexpr int kAll = kStep;
      const int count = min(kAll, kTiles - first);
#pragma unroll
      for (int r = first; r < min(first + kStep, kTiles); ++r) write(acc[r], r - first, count);
      __syncthreads();
      for (int i = threadIdx.x; i < kWarpsN * count * 16 * rows; i += kThreads) {
        const int row = i % 16;
        const int m = i / 16 % rows;
        const int r = i / 16 / rows % count;
        const int wn = i / 16 / rows / count;
        const float sum = sum_warps(wn, r, count, m, row);
        const int index = wn * kTiles + first + r;
        if constexpr (kSplit == 1) {
          store(pass, index, m, row, sum);
        } else {
          put_remote(gathered_at(pass, work.rank, index, m, row), index % kSplit, sum);
        }
      }
      if (first + kStep < kTiles || pass + 1 < p.passes) __syncthreads();
    }
    if constexpr (kSplit > 1) store_gathered(pass);
  }

 private:
  /// Rows are swapped in pairs of eight, so that a warp's stores meet in no more than two of a
  /// bank.
  static __device__ __forceinline__ int place(int m, int row) {
    return m * 16 + (row ^ (m / 2 % 2 * 8));
  }

  __device__ __forceinline__ void write(const float (&acc)[kColBlocks][4], int r, int count) const {
    const int lane = threadIdx.x % 32;
    const int base = (static_cast<int>(threadIdx.x) / 32 * count + r) * kTileFloats;
#pragma unroll
    for (int c = 0; c < kColBlocks; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int m = 8 * c + lane % 4 * 2 + i % 2;
        *sums.at(base + place(m, lane / 4 + i / 2 * 8)) = acc[c][i];
      }
    }
  }

  __device__ __forceinline__ float sum_warps(int wn, int r, int count, int m, int row) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kWarpsK; ++i) {
      sum += *sums.at(((wn * kWarpsK + i) * count + r) * kTileFloats + place(m, row));
    }
    return sum;
  }

  __device__ __forceinline__ void store_gathered(int pass) const {
    cluster_arrive();
    cluster_wait();
    for (int i = threadIdx.x; i < kPassTiles * 16 * rows; i += kThreads) {
      const int row = i % 16;
      const int m = i / 16 % rows;
      const int index = i / 16 / rows;
      if (index % kSplit != work.rank) continue;
      float sum = 0;
#pragma unroll
      for (int from = 0; from < kSplit; ++from) sum += *gathered_at(pass, from, index, m, row);
      store(pass, index, m, row, sum);
    }
  }
};

/// Codebooks of the rows of a tile that this thread has, where every row has its own.
struct RowTables {
  const LowbitParams& p;

  __device__ __forceinline__ const float* of(int tile, int half) const {
    if constexpr (!Decoder::kByRow) return nullptr;
    // A tile past the last is read, though never stored.
    const int row = min(tile, p.tiles - 1) * 16 + threadIdx.x % 32 / 4 + 8 * half;
    return p.weight.table + (static_cast<long long>(row) << kBits);
  }
};

/// A pass: all steps of K.
__device__ __forceinline__ void run_pass(float (&acc)[kTiles][kColBlocks][4], Stream& stream,
                                         Activations& activations, const Work& work,
                                         const Decoder& decoder, const RowTables& tables,
                                         int first_tile, int k) {
  activations.begin_pass();
#pragma unroll 1
  for (int step = 0; step < work.steps; ++step) {
    const int block = work.block_of(step) + work.wk;
    const bool mine = block < work.end;
    __syncwarp();  // all lanes are done with the stage before, which is copied to next
    stream.copy_step();
    activations.wait();
    if (mine) {
      stream.wait();
      unsigned x[kColBlocks][8];
      activations.read(x);
      if (kBulk && 64 * block + 64 > k) mask_end(x, k - 64 * block);
      const auto multiply_all = [&](const ActivationSums* sums) {
#pragma unroll
        for (int r = 0; r < kTiles; ++r) {
          const float* const own[2] = {tables.of(first_tile + r, 0), tables.of(first_tile + r, 1)};
          multiply_block(acc[r], stream, r, decoder, own, x, sums);
        }
      };
      if constexpr (kZeros == kZeroReal) {
        const ActivationSums sums(x);
        multiply_all(&sums);
      } else {
        multiply_all(nullptr);
      }
    }
    stream.next(mine);
    activations.next();
  }
}

__device__ __forceinline__ void init_barriers(Shared& shared, int slots) {
  for (int i = 0; i < slots; ++i) {
    barrier_init(&shared.full[i], 1);
    barrier_init(&shared.empty[i], kWarps);
  }
  fence_barrier_init();
}

extern "C" __global__ void __launch_bounds__(kThreads, kCtas)
    gemm_lowbit(const __grid_constant__ LowbitParams p) {
  extern __shared__ __align__(1024) char memory[];
  const Decoder decoder{{memory}};
  const SumSpace sums{memory};
  auto& shared = *reinterpret_cast<Shared*>(memory + sums.kBytes);
  char* const codes = memory + sums.kBytes + kSharedBytes;
  char* const ring = codes + kWarps * kStages * Stream::kStageBytes;
  const Work work = work_of(p);
  if constexpr (kSplit > 1) cluster_arrive_relaxed();
  if (!p.early) wait_for_previous_kernel();

  Stream stream(p, work, shared.weights, codes);
#pragma unroll
  for (int i = 0; i + 1 < kStages; ++i) stream.copy_step();
  Activations activations(p, work, shared, ring);
  // The first warp asks for A while the others fill the table; each needs a latency of memory.
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) init_barriers(shared, p.slots);
    __syncwarp();
    wait_for_previous_kernel();
    activations.start();
    launch_next_kernel();
  }
  if constexpr (Decoder::kLookedUp) {
    decoder.table.fill<kCodes, kThreads>(p.weight.table, threadIdx.x);
  }
  __syncthreads();
  wait_for_previous_kernel();  // whatever else it wrote is visible to all

  const Reduction reduction{p,
                            work,
                            sums,
                            reinterpret_cast<float*>(ring + p.slots * kSlotBytes),
                            activations.first_row,
                            activations.rows,
                            Decoder::kUnit * (kGlobalScale ? *p.weight.global_scale : 1.0F)};
  if constexpr (kSplit > 1) cluster_wait();  // the others have begun
#pragma unroll 1
  for (int pass = 0; pass < p.passes; ++pass) {
    float acc[kTiles][kColBlocks][4] = {};
    const int tile = work.first + (pass * kWarpsN + work.wn) * kTiles;
    run_pass(acc, stream, activations, work, decoder, {p}, tile, p.gemm.k);
    reduction.run(acc, pass);
  }
}

}  // namespace gemwright_device
