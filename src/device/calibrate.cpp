#include "device/calibrate.hpp"

#include "device/cpu/calibration.hpp"
#include "device/cuda/calibration.hpp"
#include "device/profile.hpp"

namespace gemwright {

Device calibrated(const Device& device, bool again) {
  if (!device.present()) return device;
  const DeviceProfile& profile = device.profile();
  const bool is_cpu = device.kind() == DeviceKind::cpu;
  if ((is_cpu ? profile.cpu.calibrated : profile.cuda.calibrated) && !again) return device;
  return is_cpu ? cpu::calibrated(device, again) : cuda::calibrated(device, again);
}

}  // namespace gemwright
