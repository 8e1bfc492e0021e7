// Test data: near-normal values of which any element can be recomputed on the host alone.
#pragma once

#include <gemwright/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gemwright::tune {

/// Element i of an operand's storage holds value i % kRandomPeriod of its operand. A prime, so that
/// no pitch lines up with it; and short, so that a device fills any size by copying (no kernel, and
/// the same bits everywhere).
inline constexpr std::int64_t kRandomPeriod = 1048583;

/// The operands that are filled; each has values of its own.
enum class Input : std::uint8_t { a, b, c, bias };

/// Factor on an input's values, a power of two. That of B is near 1/sqrt(K): results are then of
/// order alpha, whatever K, and fp16 neither overflows nor runs into denormals.
double input_scale(const Problem& problem, Input input);

/// One period of an input, or its first `elements` where no more are needed: of variance
/// 4/3 * scale^2 (the sum of four uniform 16-bit fields of a hash of the index), rounded to the
/// type.
std::vector<std::byte> random_period(DataType type, Input input, double scale,
                                     std::int64_t elements = kRandomPeriod);

/// Fills memory: elements first, first + 1, ... of an input's storage.
void fill_random(void* out, std::int64_t first, std::int64_t elements, DataType type,
                 const std::vector<std::byte>& period);

}  // namespace gemwright::tune
