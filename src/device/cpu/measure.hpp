// Measurements of the CPU itself: arithmetic and read rates.
#pragma once

#include "device/profile.hpp"

#include <cstddef>

namespace gemwright::cpu {

/// flop/s of one core (a fused multiply-add counts 2) while `threads` threads run the widest
/// arithmetic that `features` name. `bf16`: the dot products of bf16 pairs, where there are any.
double math_rate(const CpuFeatures& features, bool bf16, int threads);

/// Bytes/s that `threads` threads read together, each from a buffer of its own that is read over
/// and over after one pass that warms the caches.
double cached_read_rate(const CpuFeatures& features, std::size_t bytes_each, int threads);

/// Reads all of it, as fast as one core can. For timing by the caller.
void read_bytes(const CpuFeatures& features, const std::byte* data, std::size_t bytes);

/// Bytes/s that `threads` threads read together from memory: the buffer's lines are flushed from
/// all caches first, so that it may be small beside a cache that many machines share.
double memory_read_rate(const CpuFeatures& features, std::size_t bytes_each, int threads);

/// Seconds of an empty parallel region, the median of many, right after each other.
double fork_join_seconds(int threads);

}  // namespace gemwright::cpu
