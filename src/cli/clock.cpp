#include "cli/clock.hpp"

#include "device/cuda/nvml.hpp"
#include "tune/cpu_clock.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::cli {

void ClockSamples::take(const Device& device) {
  const bool cpu = device.kind() == DeviceKind::cpu;
  const double ghz = cpu ? tune::cpu_clock_ghz() : cuda::sm_clock_ghz(device.ordinal());
  if (ghz > 0) mhz_.push_back(1000 * ghz);
}

Json ClockSamples::json() const {
  if (mhz_.empty()) return nullptr;
  std::vector<double> sorted = mhz_;
  std::sort(sorted.begin(), sorted.end());
  return {{"min", std::round(sorted.front())},
          {"median", std::round(sorted[sorted.size() / 2])},
          {"max", std::round(sorted.back())}};
}

}  // namespace gemwright::cli
