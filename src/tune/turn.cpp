#include "tune/turn.hpp"

#include "files/environment.hpp"
#include "files/files.hpp"
#include "log/log.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace gemwright::tune {
namespace {

std::mutex& mutex_of(const Device& device) {
  static std::mutex mutex;
  static std::map<std::pair<DeviceKind, int>, std::mutex> mutexes;
  const std::lock_guard lock(mutex);
  return mutexes[{device.kind(), device.ordinal()}];
}

// Ordinals count the devices that a process may see: ranks that see one each do not wait for each
// other.
std::string file_name(const Device& device) {
  const std::string visible = files::environment("CUDA_VISIBLE_DEVICES");
  std::string name = fmt::format("{}-{}", device.slug(), device.ordinal());
  if (device.kind() == DeviceKind::cuda && !visible.empty()) name += fmt::format("-{}", visible);
  for (char& c : name) {
    if (c == '/') c = '_';
  }
  return name + ".lock";
}

std::filesystem::path lock_path(const Device& device) {
  std::error_code error;
  const std::filesystem::path folder = files::cache_folder() / "tuning";
  std::filesystem::create_directories(folder, error);
  return folder / file_name(device);
}

}  // namespace

Turn::Turn(const Device& device, double patience_s, const std::function<bool()>& cancelled)
    : thread_(mutex_of(device)),
      process_(
          lock_path(device), files::FileLock::Kind::alone, patience_s,
          [&] { log::info("another process is tuning for {}: waiting for it", device.name()); },
          cancelled) {}

}  // namespace gemwright::tune
