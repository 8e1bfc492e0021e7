// Stands in for src/device/cuda/ in a build without the CUDA half.
#include "device/cuda/calibration.hpp"
#include "device/cuda/devices.hpp"
#include "device/cuda/nvml.hpp"
#include "device/workspace.hpp"
#include <gemwright/errors.hpp>

namespace gemwright::cuda {

int device_count() {
  return 0;
}

Device device(int /*ordinal*/) {
  throw DeviceError(
      "this build has no CUDA half: build it where the CUDA headers are found (GEMWRIGHT_CUDA=ON)");
}

std::optional<Device> known_device(std::string_view /*slug*/) {
  return std::nullopt;
}

std::vector<std::string> known_slugs() {
  return {};
}

Device calibrated(const Device& device, bool /*again*/) {
  return device;
}

double sm_clock_ghz(int /*ordinal*/) {
  return 0;
}

}  // namespace gemwright::cuda

namespace gemwright::device {

void* stream_workspace(const Device& device, Stream /*stream*/, std::size_t /*bytes*/) {
  throw DeviceError("this build has no CUDA half, so " + device.name() + " has no workspace");
}

}  // namespace gemwright::device
