#include "support/clock.hpp"

#include "device/cuda/nvml.hpp"

#include <algorithm>
#include <chrono>

namespace gemwright::bench {
namespace {

// A chain of dependent multiplications takes 3 cycles a step on every x86-64 core of the last
// decade, so its duration gives the clock even where a hypervisor hides it.
double cpu_clock_mhz() {
#if defined(__x86_64__)
  constexpr int kSteps = 32768;
  constexpr double kCyclesPerStep = 3.0;
  double best_us = 1e30;
  unsigned long value = 3;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kSteps; i += 8) {
      asm volatile(
          "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
          "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
          : "+r"(value));
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best_us = std::min(best_us, took.count());
  }
  return kSteps * kCyclesPerStep / best_us;
#else
  return 0;
#endif
}

}  // namespace

double clock_mhz(const Device& device) {
  return device.kind() == DeviceKind::cpu ? cpu_clock_mhz()
                                          : 1e3 * cuda::sm_clock_ghz(device.ordinal());
}

}  // namespace gemwright::bench
