// The clock that a device ran at while something was measured on it.
#pragma once

#include "cli/json.hpp"
#include <gemwright/device.hpp>

#include <vector>

namespace gemwright::cli {

class ClockSamples {
 public:
  /// The clock of just now, of a device that has just been at work; nothing where it is unknown.
  void take(const Device& device);
  /// {"min", "median", "max"} in MHz; null without samples.
  Json json() const;

 private:
  std::vector<double> mhz_;
};

}  // namespace gemwright::cli
