#include "tune/cpu_clock.hpp"

#include <algorithm>
#include <chrono>

namespace gemwright::tune {

double cpu_clock_ghz() {
#if defined(__x86_64__)
  constexpr int kSteps = 100'000;
  constexpr int kUnrolled = 10;
  double best_s = 1;
  unsigned long value = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kSteps; i += kUnrolled) {
      // By register: newer cores fold chains of additions of constants.
      asm volatile(
          "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
          "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
          : "+r"(value)
          : "r"(3UL));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, took.count());
  }
  return kSteps / best_s * 1e-9;
#else
  return 0;
#endif
}

}  // namespace gemwright::tune
