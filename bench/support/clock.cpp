#include "support/clock.hpp"

#include <algorithm>
#include <chrono>

#include <dlfcn.h>

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

// Through NVML, which comes with the driver; opened at run time like everything of CUDA.
class Nvml {
 public:
  static double sm_clock_mhz(int ordinal) {
    static const Nvml nvml;
    if (nvml.get_clock_ == nullptr) return 0;
    void* handle = nullptr;
    unsigned mhz = 0;
    constexpr int kSmClock = 1;
    if (nvml.get_handle_(static_cast<unsigned>(ordinal), &handle) != 0) return 0;
    return nvml.get_clock_(handle, kSmClock, &mhz) == 0 ? mhz : 0;
  }

 private:
  using Init = int (*)();
  using GetHandle = int (*)(unsigned, void**);
  using GetClock = int (*)(void*, int, unsigned*);

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto init = reinterpret_cast<Init>(dlsym(library, "nvmlInit_v2"));
    get_handle_ = reinterpret_cast<GetHandle>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    if (init == nullptr || get_handle_ == nullptr || init() != 0) return;
    get_clock_ = reinterpret_cast<GetClock>(dlsym(library, "nvmlDeviceGetClockInfo"));
  }

  GetHandle get_handle_ = nullptr;
  GetClock get_clock_ = nullptr;
};

}  // namespace

double clock_mhz(const Device& device) {
  return device.kind() == DeviceKind::cpu ? cpu_clock_mhz() : Nvml::sm_clock_mhz(device.ordinal());
}

}  // namespace gemwright::bench
