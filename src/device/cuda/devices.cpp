#include "device/cuda/devices.hpp"

#include "device/cuda/calibration.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/known_gpus.hpp"
#include "device/profile.hpp"
#include <gemwright/errors.hpp>

#include <array>
#include <fstream>
#include <mutex>
#include <vector>

#include <fmt/format.h>

namespace gemwright::cuda {
namespace {

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver().device_get_attribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

// "580.65.06 (CUDA 13.0)".
std::string driver_version() {
  int cuda = 0;
  driver().driver_get_version(&cuda);
  std::string kernel_module = "unknown";
  std::ifstream("/sys/module/nvidia/version") >> kernel_module;
  return fmt::format("{} (CUDA {}.{})", kernel_module, cuda / 1000, cuda % 1000 / 10);
}

// Everything that the driver knows is taken from it. Of the table comes only what it does not say:
// the clock that the data sheet's peaks are for, and the memory's rate, when the very name and the
// number of multiprocessors are in the table.
DeviceProfile detect(int ordinal) {
  CUdevice device = 0;
  check(driver().device_get(&device, ordinal), "cuDeviceGet");
  std::array<char, 256> name{};
  check(driver().device_get_name(name.data(), static_cast<int>(name.size()) - 1, device),
        "cuDeviceGetName");

  DeviceProfile profile;
  profile.kind = DeviceKind::cuda;
  profile.name = name.data();
  profile.slug = slug_of(profile.name);
  profile.driver = driver_version();
  CudaProfile& gpu = profile.cuda;
  gpu.sm = 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
           attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  gpu.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  gpu.clock_ghz = attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1e-6;
  // Two transfers a clock on every kind of memory that these GPUs have.
  const double pin_rate = 2e3 * attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  const double bytes_wide = attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0;
  gpu.memory_bytes_per_s = pin_rate * bytes_wide * kAttainableBandwidth;
  check(driver().device_total_mem(&gpu.memory_bytes, device), "cuDeviceTotalMem");
  gpu.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  gpu.shared_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  gpu.shared_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const auto* known = find_known_gpu(profile.name);
  if (known != nullptr && known->name == profile.name &&
      known->multiprocessors == gpu.multiprocessors) {
    gpu.clock_ghz = known->clock_ghz;
    gpu.memory_bytes_per_s = known->memory_gbs * 1e9 * kAttainableBandwidth;
  }
  set_peak_rates(gpu, profile.name);
  return profile;
}

}  // namespace

int device_count() {
  const Driver* api = find_driver();
  int count = 0;
  if (api == nullptr || api->device_get_count(&count) != CUDA_SUCCESS) return 0;
  return count;
}

Device device(int ordinal) {
  driver();  // throws when there is none
  const int count = device_count();
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError(fmt::format("there is no CUDA device {}: this machine has {}", ordinal,
                                  count == 0 ? "none" : fmt::format("0 to {}", count - 1)));
  }
  static std::mutex mutex;
  static auto& profiles = *new std::vector<std::shared_ptr<const DeviceProfile>>;
  const std::lock_guard lock(mutex);
  if (profiles.size() < static_cast<std::size_t>(count)) profiles.resize(count);
  auto& profile = profiles[ordinal];
  if (profile == nullptr) {
    auto detected = std::make_shared<DeviceProfile>(detect(ordinal));
    attach_calibration(*detected);
    profile = std::move(detected);
  }
  return {profile, ordinal, true};
}

std::optional<Device> known_device(std::string_view slug) {
  const auto* known = find_known_gpu(slug);
  if (known == nullptr) return std::nullopt;
  return Device(std::make_shared<const DeviceProfile>(describe(*known)), 0, false);
}

std::vector<std::string> known_slugs() {
  std::vector<std::string> slugs;
  for (const auto& gpu : known_gpus()) slugs.emplace_back(gpu.slug);
  return slugs;
}

}  // namespace gemwright::cuda
