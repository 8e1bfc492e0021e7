// The ring of the wgmma kernels for low-bit weights, as its producers fill it: stages of
// activations, then stages of codes, scales and zero points of every consumer.
//
// A kernel's Work has shared.full and shared.empty, p (LowbitWideParams), cluster, segments(),
// weights(stage), and of a step (stage's K) and a consumer block_of(step, consumer), the first
// block of 64 columns, depth(step, consumer), how many, and wide_tile(tile, consumer), which rows
// of 64.
#pragma once

#include "hopper_schedule.cuh"
#include "lowbit_params.cuh"
#include "mainloop_wgmma.cuh"

namespace gemwright_device {

/// The weight's part of a stage. A consumer has up to kDepth blocks, and kSets sets of scales;
/// kAlike: all consumers have as many.
template <typename Decoder, int kConsumers_, int kDepth, int kSets_, bool kAlike_>
struct WeightStage {
  static constexpr int kConsumers = kConsumers_;
  static constexpr int kSets = kSets_;
  static constexpr bool kAlike = kAlike_;
  static constexpr int kBlockSpan = Decoder::kCodeSpan;
  static constexpr int kScaleSetSpan = Decoder::kScaleSpan;
  static constexpr int kZeroSetSpan = Decoder::kZeroSpan;
  static constexpr int kCodeSpan = kDepth * kBlockSpan;
  static constexpr int kScaleSpan = kSets * kScaleSetSpan;
  static constexpr int kZeroSpan = kSets * kZeroSetSpan;
  static constexpr int kScalesAt = kConsumers * kCodeSpan;
  static constexpr int kZerosAt = kScalesAt + kConsumers * kScaleSpan;
  static constexpr int kBytes = kZerosAt + kConsumers * kZeroSpan;
  /// Which of a row's sets of scales a block has.
  static __device__ __forceinline__ int set_of(int block) { return Decoder::Places::set_of(block); }
};

/// Calls f(tile, step, stage) for all steps of K of a CTA, once the stage is free.
template <int kStages, typename Work, typename F>
__device__ __forceinline__ void each_step(const Work& work, F f) {
  RingPosition<kStages> at;
  auto segments = work.segments();
  for (Segment s; segments.next(s);) {
    const HopperTile tile = hopper_tile_at(s.tile, work.cluster, work.p.hopper);
#pragma unroll 1
    for (int step = s.first; step < s.last; ++step) {
      barrier_wait(&work.shared.empty[at.stage], at.parity ^ 1);
      f(tile, step, at.stage);
      at.next();
    }
  }
}

/// One thread: codes of all consumers' tiles, or (not kOfCodes) scales and zero points.
template <int kStages, typename Stage, bool kOfCodes, typename Work>
__device__ __forceinline__ void produce_weights(const Work& work) {
  const LowbitWeight& weight = work.p.weight;
  each_step<kStages>(work, [&](const HopperTile& tile, int step, int stage) {
    Barrier* full = &work.shared.full[stage];
    const unsigned to = work.weights(stage);
    const auto bytes = [&](int depth) {
      const int sets = Stage::kSets == 1 ? min(depth, 1) : depth;
      return kOfCodes ? depth * Stage::kBlockSpan
                      : sets * (Stage::kScaleSetSpan + Stage::kZeroSetSpan);
    };
    int all = Stage::kConsumers * bytes(work.depth(step, 0));
    if constexpr (!Stage::kAlike) {
      all = 0;
#pragma unroll
      for (int i = 0; i < Stage::kConsumers; ++i) all += bytes(work.depth(step, i));
    }
    barrier_arrive_expect(full, static_cast<unsigned>(all));
#pragma unroll 1  // registers are few
    for (int i = 0; i < Stage::kConsumers; ++i) {
      const int depth = work.depth(step, i);
      if (!Stage::kAlike && depth == 0) break;
      const int sets = Stage::kSets == 1 ? 1 : depth;
      // Past the last tile of 64 rows there is nothing to read; what is read instead is not stored.
      const long long wide = min(work.wide_tile(tile, i), work.p.wide_tiles - 1);
      // `count` pieces from number `index` on.
      const auto copy = [&](unsigned address, const void* from, long long index, int size,
                            int count) {
        copy_line(address, static_cast<const char*>(from) + index * size, count * size, full,
                  work.p.hopper.a_policy);
      };
      if constexpr (kOfCodes) {
        copy(to + i * Stage::kCodeSpan, weight.codes, wide * weight.blocks + work.block_of(step, i),
             Stage::kBlockSpan, depth);
      } else {
        const long long index = wide * weight.sets + Stage::set_of(work.block_of(step, i));
        copy(to + Stage::kScalesAt + i * Stage::kScaleSpan, weight.scales, index,
             Stage::kScaleSetSpan, sets);
        if constexpr (Stage::kZeroSpan > 0) {
          copy(to + Stage::kZerosAt + i * Stage::kZeroSpan, weight.zeros, index,
               Stage::kZeroSetSpan, sets);
        }
      }
    }
  });
}

/// Threads of a CTA, one warpgroup of them producers, share 65536 registers, of which a thread has
/// at launch what 8 divides, out again: those of a consumer.
__host__ __device__ constexpr int consumer_registers(int consumers, int of_producer) {
  const int at_launch = 65536 / (128 * (1 + consumers)) / 8 * 8;
  return (at_launch + (at_launch - of_producer) / consumers) / 8 * 8;
}

/// A shared address that all threads agree on: finding it out anew takes three instructions.
__device__ __forceinline__ unsigned kept_address(const void* p) {
  return static_cast<unsigned>(uniform(static_cast<int>(shared_address(p))));
}

}  // namespace gemwright_device
