#include "device/cuda/nvml.hpp"

#include "device/cuda/driver.hpp"
#include "files/shared_library.hpp"

#include <array>

namespace gemwright::cuda {
namespace {

// The few of nvml.h that are used: toolkits do not all ship the header.
using NvmlDevice = struct nvmlDevice_st*;
constexpr unsigned kClockSm = 1;  // NVML_CLOCK_SM

struct Nvml {
  int (*device_by_bus)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
};

Nvml open() {
  constexpr std::array names{"libnvidia-ml.so.1"};
  const auto library = files::open_library("GEMWRIGHT_LIBNVML", names, nullptr);
  const auto start = reinterpret_cast<int (*)()>(library.symbol("nvmlInit_v2"));
  if (start == nullptr || start() != 0) return {};
  Nvml nvml;
  nvml.device_by_bus = reinterpret_cast<decltype(nvml.device_by_bus)>(
      library.symbol("nvmlDeviceGetHandleByPciBusId_v2"));
  nvml.clock = reinterpret_cast<decltype(nvml.clock)>(library.symbol("nvmlDeviceGetClockInfo"));
  return nvml;
}

}  // namespace

double sm_clock_ghz(int ordinal) {
  static const Nvml nvml = open();
  if (nvml.device_by_bus == nullptr || nvml.clock == nullptr) return 0;
  CUdevice device = 0;
  std::array<char, 32> bus{};
  NvmlDevice handle = nullptr;
  unsigned megahertz = 0;
  if (driver().device_get(&device, ordinal) != CUDA_SUCCESS ||
      driver().device_get_pci_bus_id(bus.data(), static_cast<int>(bus.size()), device) !=
          CUDA_SUCCESS ||
      nvml.device_by_bus(bus.data(), &handle) != 0 ||
      nvml.clock(handle, kClockSm, &megahertz) != 0) {
    return 0;
  }
  return megahertz * 1e-3;
}

}  // namespace gemwright::cuda
