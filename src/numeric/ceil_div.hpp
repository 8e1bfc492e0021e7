// How many parts of a size cover another.
#pragma once

#include <cstdint>

namespace gemwright::numeric {

/// `value` / `by`, rounded up; of a value from 0 and a divisor from 1.
constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace gemwright::numeric
