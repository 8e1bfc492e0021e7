#include "device/calibrate.hpp"

#include "device/cpu/calibration.hpp"
#include "device/profile.hpp"

namespace gemwright {

Device calibrated(const Device& device, bool again) {
  if (device.kind() != DeviceKind::cpu || !device.present()) return device;
  if (device.profile().cpu.calibrated && !again) return device;
  return cpu::calibrated(device, again);
}

}  // namespace gemwright
