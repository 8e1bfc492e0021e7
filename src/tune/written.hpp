// What a kernel left in D's storage.
#pragma once

#include <gemwright/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gemwright::tune {

struct Written {
  bool outside = false;     // something before or after D's storage
  std::int64_t poison = 0;  // elements of the storage that are as Testbed::poison() leaves them
  std::int64_t nan = 0;     // elements that are NaN, poison among them
};

/// Bits of the type's infinity; what is larger without its sign is NaN.
std::uint32_t infinity_bits(DataType type);

/// Looks through storage on the host with its guards, as Testbed::output() gives it, on up to
/// `threads` threads.
Written look_through(DataType type, std::span<const std::byte> output, int threads);

/// The elements at these places of such storage.
std::vector<double> values_at(DataType type, std::span<const std::byte> output,
                              std::span<const std::int64_t> places);

}  // namespace gemwright::tune
