// Warp-specialised GEMM for sm_90a with a packed low-bit weight, any number of rows of activations.
// It sees D^T = W * A^T: its m is N, its n is M. Producer threads fill a ring of activations, codes
// and scales by bulk copies; consumer warpgroups turn codes into the register operand of wgmma.
// Persistent over tiles, or one tile a cluster with K split across it.
//
// The preamble defines: kType (of activations: fp16 or bf16), kBits, kCodes, kScaleType, kGroup
// (columns that share a scale; 0: all), kZeros, kGlobalScale, kScaling; kTypeD, kStore, kHasC,
// kTypeC, kBias, kTypeBias; kTileN, kStages, kDepth (blocks of 64 columns in a stage), kConsumers
// (of 64 weight rows each), kBuffers; kSplit, kStreamK; kAcross (the consumers of a CTA share K and
// not rows); kOverlap (a consumer decodes while it multiplies); kPart (columns whose sums of a
// group are scaled at a time, while the next are multiplied; 0: all at once, then the next are);
// kFactors (rows of activations have a factor each).
#include "epilogue_wgmma.cuh"
#include "hopper_schedule.cuh"
#include "lowbit_ring.cuh"
#include "mainloop_lowbit_wgmma.cuh"
#include "part_sums.cuh"

namespace gemwright_device {

template <int kInput>
struct InstructionOf {
  using Type = WgmmaBf16;
};
template <>
struct InstructionOf<kF16> {
  using Type = WgmmaF16;
};

using Decoder = WeightDecoder<kType, kBits, kCodes, kScaleType, kGroup, kZeros, kScaling>;
using Places = Decoder::Places;
using Product = Wgmma<InstructionOf<kType>::Type, WgmmaTail<true, false, false>, kTileN / 2>;
using GemmEpilogue = WarpgroupEpilogue<kStore, kBuffers, kTypeD, kHasC, kTypeC, kBias, kTypeBias>;
using GemmSegments = Segments<kStreamK>;
/// Consumers that share K, and tiles of 64 rows.
constexpr int kAlongK = kAcross ? kConsumers : 1;
constexpr int kWideTiles = kAcross ? 1 : kConsumers;
template <bool kJoint>
struct PartsOf {
  using Type = PartSums<kConsumers, kTileN, kSplit>;
};
template <>
struct PartsOf<true> {
  using Type = JointSums<kConsumers, kTileN, kSplit>;
};
using Parts = PartsOf<kAcross>::Type;
constexpr bool kInParts = kSplit * kAlongK > 1;

/// Sets of scales of a stage (a step of K).
constexpr int kSets = kGroup == 0 || kGroup > 64 ? 1 : kDepth;
/// The ring: stages of activations, then stages of codes, scales and zero points of each consumer.
constexpr int kBlockBytes = kTileN * 128;
constexpr int kActivationBytes = kAlongK * kDepth * kBlockBytes;
using Stage = WeightStage<Decoder, kConsumers, kDepth, kSets, !kAcross>;
constexpr int kRingBytes = kStages * (kActivationBytes + Stage::kBytes);

constexpr int kThreads = 128 * (1 + kConsumers);
template <int kWidth, bool kUsed>
struct BufferBytes {
  static constexpr int kValue = 0;
};
template <int kWidth>
struct BufferBytes<kWidth, true> {
  static constexpr int kValue = kBuffers * Chunk<kStore, kTypeD, kWidth, kHasC>::kBufferBytes;
};
constexpr int kBufferBytes = BufferBytes<kTileN, kStore != kStoreDirect>::kValue;
constexpr int kPartBytes = kInParts ? Parts::kBytes : 0;
/// The table is aligned to its rows' 256 bytes, what is copied out to 1024.
constexpr int kTableAt = (kRingBytes + 1023) / 1024 * 1024;
constexpr int kBuffersAt = kTableAt + Decoder::Codes::kTableBytes;
constexpr int kProducerRegisters = kConsumers > 2 ? 32 : 40;
constexpr int kConsumerRegisters = consumer_registers(kConsumers, kProducerRegisters);
static_assert(!kInParts || (!kStreamK && kStore == kStoreDirect));

/// Ids of barriers: 1 + c is for the threads of consumer c; kTurnBarrier + c gives it its turn.
constexpr int kTurnBarrier = 8;

struct Shared {
  Barrier full[kStages];
  Barrier empty[kStages];
  Barrier landed;  // parts of a split K
  unsigned flags[kConsumers];
};

/// What all roles know.
struct Work {
  char* memory;
  unsigned ring;  // its address
  Shared& shared;
  unsigned full, empty;  // addresses of barriers
  const LowbitWideParams& p;
  int rank;  // in the cluster: part of K
  int cluster;
  int first, last;  // steps of K of a tile

  __device__ __forceinline__ unsigned activations(int stage) const {
    return ring + stage * kActivationBytes;
  }
  __device__ __forceinline__ unsigned weights(int stage) const {
    return ring + kStages * kActivationBytes + stage * Stage::kBytes;
  }
  __device__ __forceinline__ GemmSegments segments() const {
    return {p.hopper, cluster, first, last};
  }
  /// The first block of a step that consumer `i` (producers: of that consumer) reads, and how many.
  static __device__ __forceinline__ int block_of(int step, int i) {
    return (kAcross ? step * kConsumers + i : step) * kDepth;
  }
  /// Number of a consumer's first row of 64.
  static __device__ __forceinline__ int wide_tile(const HopperTile& tile, int consumer) {
    return tile.m * kWideTiles + (kAcross ? 0 : consumer);
  }
  /// The last step may be short.
  __device__ __forceinline__ int depth(int step, int i) const {
    return max(0, min(kDepth, p.weight.blocks - block_of(step, i)));
  }
};

/// One thread. What lies past K is filled with zeros.
__device__ __forceinline__ void produce_activations(const Work& work, const TensorMap* map) {
  each_step<kStages>(work, [&](const HopperTile& tile, int step, int stage) {
    Barrier* full = &work.shared.full[stage];
    barrier_arrive_expect(full, kActivationBytes);
#pragma unroll
    for (int i = 0; i < kAlongK * kDepth; ++i) {
      char* to = work.memory + stage * kActivationBytes + i * kBlockBytes;
      const int k = (step * (kAlongK * kDepth) + i) * 64;
      copy_in(to, map, full, k, tile.n * kTileN, 0, work.p.hopper.b_policy);
    }
  });
}

/// One consumer warpgroup: 64 weight rows of each of the CTA's tiles (or, across, a part of K of
/// all).
struct Consumer {
  using Accumulator = float[kTileN / 2];
  using Block = Decoder::Block;

  const Work& work;
  const Decoder& decoder;
  int index;
  RingPosition<kStages> at;     // of the step that is read next
  const float* tables[2] = {};  // of the rows, where each has its own

  __device__ __forceinline__ Consumer(const Work& w, const Decoder& d, int i)
      : work(w), decoder(d), index(i) {}

  __device__ __forceinline__ int row_of(const HopperTile& tile) const {
    return Work::wide_tile(tile, index) * 64;
  }

  __device__ __forceinline__ void find_tables(const HopperTile& tile) {
    if constexpr (!Decoder::Codes::kByRow) return;
    const int wide = min(row_of(tile) / 64, work.p.wide_tiles - 1);
    const int thread = threadIdx.x % 128;
    const int row = wide * 64 + thread / 32 * 16 + thread % 32 / 4;
    tables[0] = work.p.weight.table + (static_cast<long long>(row) << kBits);
    tables[1] = tables[0] + (8LL << kBits);
  }

  /// acc = weight rows times activations over steps [first, last). Where groups are scaled, the
  /// part of one that is here is scaled all the same.
  __device__ __forceinline__ void run(int first, int last, Accumulator& acc) {
#pragma unroll
    for (int i = 0; i < kTileN / 2; ++i) acc[i] = 0.0F;
    if (kAcross && first < last && work.depth(last - 1, index) == 0) --last;
    if (first == last) return;
    if constexpr (kInPlace) units[0] = units[1] = 1.0F;
    if constexpr (kOverlap) {
      run_overlapped(first, last, acc);
    } else {
      run_in_turn(first, last, acc);
    }
    if constexpr (kInPlace) scale_by(units, acc);
  }

  /// Around all tiles.
  __device__ __forceinline__ void begin_turns() const {
    if constexpr (kTurns) {
      if (index == kConsumers - 1) give_turn();
    }
  }
  __device__ __forceinline__ void end_turns() const {
    if constexpr (kTurns) {
      if (index == 0) take_turn();
    }
  }

 private:
  static constexpr int kParts = kPart > 0 ? kTileN / kPart : 1;
  static constexpr int kSums = kTileN / 2 / kParts;
  static_assert(kPart == 0 || (kTileN % kPart == 0 && kScaling == kScaleSums && kOverlap));
  static_assert(kDepth == 1 || kDepth == 2);
  using SumProduct = Wgmma<InstructionOf<kType>::Type, WgmmaTail<true, false, false>, kSums>;
  /// Products of a block: of its groups, those of the parts of the columns. Two are under way, and
  /// while one is multiplied the sums of the one before are scaled.
  static constexpr int kProducts = kPart > 0 ? kParts* Places::kTogether : 1;

  static constexpr bool kReal = Decoder::kReal;
  static_assert(!kReal || kPart == 0);

  static constexpr bool kInPlace = kScaling == kScaleInPlace;
  /// Consumers begin their products in turn: then one scales while the other multiplies. Left to
  /// themselves products interleave and end together, and while all scale nothing multiplies. Of
  /// narrower tiles a turn costs more than that.
  static constexpr bool kTurns = kInPlace && kOverlap && kTileN > 128 && kConsumers > 1;

  float sums[kPart > 0 ? 2 : 1][kSums];  // of a group, where sums are scaled
  float units[2];                        // of accumulators, where they are scaled in place
  float activations_[kSums];             // sums of the same columns of K, for real zero points

  /// Whether a block is the first, and the last, that is added to a sum.
  struct InGroup {
    bool begins, ends;
  };
  /// Of block `number` of a step (of its pair, where a step is a block).
  __device__ __forceinline__ InGroup place_of(int step, int number, bool first, bool last) const {
    const int block = Work::block_of(step, index) + number;
    // Of a group longer than a step the other consumers have the rest.
    constexpr int kBlocks = kAcross && Places::kBlocks > kDepth ? kDepth : Places::kBlocks;
    const int end = kAcross ? number + 1 : block + 1;
    const int begin = kAcross ? number : block;
    return {first || begin % kBlocks == 0, last || end % kBlocks == 0};
  }

  /// A block is decoded while the one before is multiplied, and the matrix unit always has a
  /// product to go on with.
  __device__ __forceinline__ void run_overlapped(int first, int last, Accumulator& acc) {
    Block even, odd;
    wait();
    read(even, 0);
    if constexpr (kPart > 0) {  // nothing comes before the first product
#pragma unroll
      for (float& x : sums[1]) x = 0.0F;
#pragma unroll
      for (auto& scale : odd.scale) scale[0] = scale[1] = 0.0F;
    } else if constexpr (kScaling != kScaleSums) {
      wgmma_pin(acc);
    }
    constexpr int kStep = 2 / kDepth;
    bool both = true;
    int previous = 0;  // stage of the block before
#pragma unroll 1
    for (int step = first; step < last; step += kStep) {
      const bool more = step + kStep < last;
      both = more || (kDepth == 1 ? step + 1 < last : work.depth(step, index) == kDepth);
      const int stage = at.stage;
      multiply<0>(
          even, acc, activations(stage, 0), place_of(step, 0, step == first, !both),
          [&] {
            finish<1, 1>(odd, acc);
            if (step > first) release(previous);
          },
          [&] {
            if (!both) return;
            if constexpr (kDepth == 1) {
              at.next();
              wait();
            }
            read(odd, kDepth - 1);
          });
      previous = stage;
      if (both) {
        previous = at.stage;
        multiply<kProducts % 2>(
            odd, acc, activations(at.stage, kDepth - 1), place_of(step, 1, false, !more),
            [&] {
              finish<(kProducts + 1) % 2, 1>(even, acc);
              if constexpr (kDepth == 1) release(stage);
            },
            [&] {
              if (!more) return;
              at.next();
              wait();
              read(even, 0);
            });
      }
    }
    if (both) {
      finish<1, 0>(odd, acc);
    } else {
      finish<(kProducts + 1) % 2, 0>(even, acc);
    }
    if constexpr (kScaling != kScaleSums) wgmma_pin(acc);
    release(previous);
    at.next();
    if constexpr (kScaling == kScaleRows) scale_by(even.scale[0], acc);  // as all blocks have it
  }

  /// acc += a block times the activations at `from`, but for what finish() does. `kFirst`: which
  /// sums its first product takes. finish_before() waits for the block before, whose registers are
  /// free then; read_next() may fill them.
  template <int kFirst, typename FinishBefore, typename ReadNext>
  __device__ __forceinline__ void multiply(const Block& block, Accumulator& acc, unsigned from,
                                           InGroup in_group, FinishBefore finish_before,
                                           ReadNext read_next) {
    const unsigned long long x = wgmma_descriptor(wgmma_layout(16, 1024), from);
    if constexpr (kPart > 0) {
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        const unsigned long long y = x + i % kParts * (kPart * 128 / 16);
        issue(block, i / kParts, y, true, sums[(kFirst + i) % 2]);
        if (i == 0) finish_before();
        if (i == (kProducts > 1 ? 1 : 0)) read_next();
        if (i > 0) scale_sums<1>(block, i - 1, sums[(kFirst + i + 1) % 2], acc);
      }
    } else if constexpr (kScaling == kScaleSums) {
      finish_before();
      multiply_groups(block, acc, x, in_group, read_next);
    } else if constexpr (kInPlace) {
      finish_before();
      multiply_in_place(block, acc, x, in_group, read_next);
    } else {
      multiply_all(block, acc, x);
      finish_before();
      read_next();
    }
  }

  /// As multiply_groups, in units.
  template <typename ReadNext>
  __device__ __forceinline__ void multiply_in_place(const Block& block, Accumulator& acc,
                                                    unsigned long long x, InGroup in_group,
                                                    ReadNext read_next) {
#pragma unroll
    for (int group = 0; group < Places::kTogether; ++group) {
      if (in_group.begins) change_units(block.scale[group], acc);
      if (group == 0) take_turn();
      issue(block, group, x, false, acc);
      if (group + 1 == Places::kTogether) {
        give_turn();
        read_next();
      }
      wgmma_wait<0>();
      wgmma_pin(acc);
    }
  }

  __device__ __forceinline__ void take_turn() const {
    if constexpr (kTurns) named_barrier(kTurnBarrier + index, 256);
  }
  __device__ __forceinline__ void give_turn() const {
    if constexpr (kTurns) named_barrier_arrive(kTurnBarrier + (index + 1) % kConsumers, 256);
  }

  __device__ __forceinline__ void change_units(const float (&to)[2], Accumulator& acc) {
    const float ratios[2] = {units[0] * reciprocal(to[0]), units[1] * reciprocal(to[1])};
    scale_by(ratios, acc);
    units[0] = to[0];
    units[1] = to[1];
  }

  /// Group by group, each of which is waited for; read_next() meets the last.
  template <typename ReadNext>
  __device__ __forceinline__ void multiply_groups(const Block& block, Accumulator& acc,
                                                  unsigned long long x, InGroup in_group,
                                                  ReadNext read_next) {
#pragma unroll
    for (int group = 0; group < Places::kTogether; ++group) {
      issue(block, group, x, in_group.begins, sums[0]);
      if constexpr (kReal) issue_activations(group, x, in_group.begins);
      if (group + 1 == Places::kTogether) read_next();
      if (in_group.ends) {
        if constexpr (kReal) subtract_zeros(block, group);
        scale_sums<0>(block, group, sums[0], acc);
      } else {
        wgmma_wait<0>();
        wgmma_pin(sums[0]);
        if constexpr (kReal) wgmma_pin(activations_);
      }
    }
  }

  static __device__ __forceinline__ void multiply_all(const Block& block, Accumulator& acc,
                                                      unsigned long long x) {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) Product::registers(acc, block.a[step], x + 2 * step, 1);
    wgmma_commit();
  }

  /// Begins sum = (if not `begins`: +=) a group of a block times the activations that `x`
  /// describes.
  static __device__ __forceinline__ void issue(const Block& block, int group, unsigned long long x,
                                               bool begins, float (&sum)[kSums]) {
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < Places::kSteps; ++j) {
      const int step = group * Places::kSteps + j;
      SumProduct::registers(sum, block.a[step], x + 2 * step, j > 0 || !begins ? 1 : 0);
    }
    wgmma_commit();
  }

  /// As issue, of a row of ones (in the unit of codes) for every weight row.
  __device__ __forceinline__ void issue_activations(int group, unsigned long long x, bool begins) {
    constexpr float kOne = 1 / Decoder::Codes::kUnit;
    const unsigned pair = pack<kType>(kOne, kOne);
    const unsigned ones[4] = {pair, pair, pair, pair};
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < Places::kSteps; ++j) {
      const int step = group * Places::kSteps + j;
      SumProduct::registers(activations_, ones, x + 2 * step, j > 0 || !begins ? 1 : 0);
    }
    wgmma_commit();
  }

  /// Of the sums of a group, the fractions of its zero points times its activations.
  __device__ __forceinline__ void subtract_zeros(const Block& block, int group) {
    wgmma_wait<0>();
    wgmma_pin(sums[0]);
    wgmma_pin(activations_);
#pragma unroll
    for (int e = 0; e < kSums; ++e) {
      sums[0][e] = fmaf(block.fraction[group][e % 4 / 2], activations_[e], sums[0][e]);
    }
  }

  /// Waits until of all products `kPending` are under way; the last of a block is in sums[kAt].
  template <int kAt, int kPending>
  __device__ __forceinline__ void finish(const Block& block, Accumulator& acc) {
    if constexpr (kPart > 0) {
      scale_sums<kPending>(block, kProducts - 1, sums[kAt], acc);
    } else if constexpr (kScaling != kScaleSums && !kInPlace) {
      wgmma_wait<kPending>();
    }
  }

  /// Adds product `i` of a block to acc, when `kPending` later ones are under way.
  template <int kPending>
  static __device__ __forceinline__ void scale_sums(const Block& block, int i, float (&sum)[kSums],
                                                    Accumulator& acc) {
    wgmma_wait<kPending>();
    wgmma_pin(sum);
#pragma unroll
    for (int e = 0; e < kSums; ++e) {
      float& to = acc[i % kParts * kSums + e];
      to = fmaf(block.scale[i / kParts][e % 4 / 2], sum[e], to);
      asm volatile("" : "+f"(to));  // before the next product is begun in these sums
    }
  }

  /// With the registers of one block; meanwhile the other consumers multiply.
  __device__ __forceinline__ void run_in_turn(int first, int last, Accumulator& acc) {
    Block block;
    wgmma_pin(acc);
#pragma unroll 1
    for (int step = first; step < last; ++step) {
      const int depth = work.depth(step, index);
      wait();
#pragma unroll 1
      for (int i = 0; i < depth; ++i) {
        read(block, i);
        const unsigned from = activations(at.stage, i);
        const unsigned long long x = wgmma_descriptor(wgmma_layout(16, 1024), from);
        if constexpr (kScaling == kScaleSums) {
          multiply_groups(
              block, acc, x,
              place_of(step, i, step == first && i == 0, step + 1 == last && i + 1 == depth),
              [] {});
        } else if constexpr (kInPlace) {
          multiply_in_place(block, acc, x, place_of(step, i, step == first && i == 0, false),
                            [] {});
        } else {
          multiply_all(block, acc, x);
          wgmma_wait<0>();
          wgmma_pin(acc);
        }
      }
      release(at.stage);
      at.next();
    }
    if constexpr (kScaling == kScaleRows) scale_by(block.scale[0], acc);
  }

  /// Of block `number` of this consumer's.
  __device__ __forceinline__ unsigned activations(int stage, int number) const {
    return work.activations(stage) + ((kAcross ? index * kDepth : 0) + number) * kBlockBytes;
  }

  __device__ __forceinline__ void wait() const {
    barrier_wait(work.full + at.stage * sizeof(Barrier), at.parity);
  }

  __device__ __forceinline__ void release(int stage) const {
    if (threadIdx.x % 128 == 0) barrier_arrive(work.empty + stage * sizeof(Barrier));
  }

  /// Block `number` of the step at `at`.
  __device__ __forceinline__ void read(Block& block, int number) const {
    const unsigned weights = work.weights(at.stage);
    const int set = kSets == 1 ? 0 : number;
    decoder.read(block, weights + index * Stage::kCodeSpan + number * Decoder::kCodeSpan,
                 weights + Stage::kScalesAt + index * Stage::kScaleSpan + set * Decoder::kScaleSpan,
                 weights + Stage::kZerosAt + index * Stage::kZeroSpan + set * Decoder::kZeroSpan,
                 tables);
  }

  static __device__ __forceinline__ void scale_by(const float (&factors)[2], Accumulator& acc) {
#pragma unroll
    for (int e = 0; e < kTileN / 2; ++e) acc[e] *= factors[e % 4 / 2];
  }
};

/// Sums times `unit`, and times the factors of their columns: from `column` on.
__device__ __forceinline__ void scale_columns(const Work& work, int column, float unit,
                                              float (&acc)[kTileN / 2]) {
  const GemmParams& p = work.p.hopper.gemm;
#pragma unroll
  for (int j = 0; j < kTileN / 8; ++j) {
    float factor[2] = {unit, unit};
    if constexpr (kFactors) {
      const int n = column + 8 * j + static_cast<int>(threadIdx.x) % 4 * 2;
      factor[0] *= n < p.n ? p.column_factors[n] : 0;
      factor[1] *= n + 1 < p.n ? p.column_factors[n + 1] : 0;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) acc[4 * j + i] *= factor[i % 2];
  }
}

__device__ __forceinline__ void run_consumer(const Work& work, Consumer& consumer,
                                             const TensorMap* d_map) {
  using Direct = Epilogue<kTypeD, 1, kHasC, kTypeC, kBias, kTypeBias>;
  const HopperParams& p = work.p.hopper;
  char* const buffers = work.memory + kBuffersAt;
  const float unit = Decoder::Codes::kUnit * (kGlobalScale ? *work.p.weight.global_scale : 1.0F);
  GemmEpilogue epilogue{p.gemm, d_map, buffers + consumer.index * kBufferBytes, 1 + consumer.index};
  GemmSegments segments = work.segments();
  consumer.begin_turns();
  for (Segment s; segments.next(s);) {
    const HopperTile tile = hopper_tile_at(s.tile, work.cluster, work.p.hopper);
    float acc[1][kTileN / 2];
    consumer.find_tables(tile);
    consumer.run(s.first, s.last, acc[0]);
    if constexpr (kStreamK) {
      if (s.last - s.first != work.last &&
          !combine<kConsumers>(p, s, work.cluster, work.last, consumer.index, 1 + consumer.index,
                               &work.shared.flags[consumer.index], acc)) {
        continue;
      }
    }
    scale_columns(work, tile.n * kTileN, unit, acc[0]);
    const int row = consumer.row_of(tile);
    if constexpr (kInParts) {
      const Parts parts{buffers, &work.shared.landed, work.rank};
      if constexpr (kSplit > 1) cluster_wait();  // the others' barriers are initialised
      parts.run(acc[0], consumer.index, [&](int j, const float(&sum)[4]) {
        const int thread = threadIdx.x % 128;
        const int m = row + thread / 32 * 16 + thread % 32 / 4;
        const int n = tile.n * kTileN + 8 * j + thread % 4 * 2;
        Direct::template store<2>(p.gemm, 0, m, n, {sum[0], sum[1]});
        Direct::template store<2>(p.gemm, 0, m + 8, n, {sum[2], sum[3]});
      });
    } else {
      epilogue.template store<kTileN>(acc[0], row, tile.n * kTileN, 0);
    }
  }
  consumer.end_turns();
  epilogue.finish_stores();
}

/// By one thread.
__device__ __forceinline__ void init_barriers(const Work& work) {
#pragma unroll
  for (int i = 0; i < kStages; ++i) {
    barrier_init(&work.shared.full[i], 3);  // activations, codes, scales
    barrier_init(&work.shared.empty[i], kConsumers);
  }
  if constexpr (kInParts) Parts{nullptr, &work.shared.landed, work.rank}.init();
  fence_barrier_init();
}

__device__ __forceinline__ Work begin(const LowbitWideParams& p, char* memory) {
  const int rank = kSplit > 1 ? static_cast<int>(cluster_rank()) : 0;
  constexpr int kAfter =
      kPartBytes > kConsumers * kBufferBytes ? kPartBytes : kConsumers * kBufferBytes;
  constexpr int kStep = kAlongK * kDepth;
  const int steps = (p.weight.blocks + kStep - 1) / kStep;
  const auto part = [&](int i) {
    return static_cast<int>(static_cast<long long>(steps) * i / kSplit);
  };
  auto& shared = *reinterpret_cast<Shared*>(memory + kBuffersAt + kAfter);
  return {memory,
          kept_address(memory),
          shared,
          kept_address(shared.full),
          kept_address(shared.empty),
          p,
          rank,
          static_cast<int>(blockIdx.x) / kSplit,
          kSplit > 1 ? part(rank) : 0,
          kSplit > 1 ? part(rank + 1) : steps};
}

}  // namespace gemwright_device

extern "C" __global__ void __launch_bounds__(gemwright_device::kThreads, 1)
    gemm_lowbit_wide(const __grid_constant__ gemwright_device::TensorMap activations,
                     const __grid_constant__ gemwright_device::TensorMap d_map,
                     const __grid_constant__ gemwright_device::LowbitWideParams p) {
  using namespace gemwright_device;
  extern __shared__ __align__(1024) char memory[];
  const Work work = begin(p, memory);
  const int warp = uniform(threadIdx.x / 32);
  // The warp that copies codes waits for nobody: its first copies are what all the others wait for.
  constexpr int kReady = 14;
  if (warp == 1) {
    if (elect_one()) init_barriers(work);
    __syncwarp();
    named_barrier_arrive(kReady, kThreads);
  } else {
    if (warp == 0 && elect_one()) prefetch_map(&activations);
    named_barrier(kReady, kThreads);
  }
  if constexpr (kSplit > 1) cluster_arrive_relaxed();
  // Without `early` the weight may be what the kernel before has written.
  if (!p.early) wait_for_previous_kernel();

  if (warp < 4) {
    if constexpr (kConsumers > 1) register_decrease<kProducerRegisters>();
    if (warp == 0 && elect_one()) {
      wait_for_previous_kernel();
      launch_next_kernel();
      produce_activations(work, &activations);
    }
    if (warp == 1 && elect_one()) produce_weights<kStages, Stage, true>(work);
    if (warp == 2 && elect_one()) produce_weights<kStages, Stage, false>(work);
    __syncwarp();
    if constexpr (kSplit > 1) cluster_wait();
  } else {
    if constexpr (kConsumers > 1) register_increase<kConsumerRegisters>();
    const Decoder decoder{{{memory + kTableAt}}};
    if constexpr (Decoder::Codes::kLookedUp) {
      constexpr int kAll = 128 * kConsumers;
      decoder.codes.table.fill<kCodes, kAll>(p.weight.table, threadIdx.x - 128);
      named_barrier(15, kAll);
    }
    wait_for_previous_kernel();
    Consumer consumer(work, decoder, warp / 4 - 1);
    run_consumer(work, consumer, &d_map);
  }
}
