// The clock that a device runs at just now.
#pragma once

#include <gemwright/device.hpp>

namespace gemwright::bench {

/// In MHz; 0 where it cannot be known.
double clock_mhz(const Device& device);

}  // namespace gemwright::bench
