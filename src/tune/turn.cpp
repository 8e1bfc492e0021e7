#include "tune/turn.hpp"

#include "files/files.hpp"
#include "log/log.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace gemwright::tune {
namespace {

using Clock = std::chrono::steady_clock;

std::mutex& mutex_of(const Device& device) {
  static std::mutex mutex;
  static std::map<std::pair<DeviceKind, int>, std::mutex> mutexes;
  const std::lock_guard lock(mutex);
  return mutexes[{device.kind(), device.ordinal()}];
}

// Ordinals count the devices that a process may see: ranks that see one each do not wait for each
// other.
std::string file_name(const Device& device) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string name = fmt::format("{}-{}", device.slug(), device.ordinal());
  if (device.kind() == DeviceKind::cuda && visible != nullptr) name += fmt::format("-{}", visible);
  for (char& c : name) {
    if (c == '/') c = '_';
  }
  return name + ".lock";
}

int open_lock_file(const Device& device) {
  std::error_code error;
  const std::filesystem::path folder = files::cache_folder() / "tuning";
  std::filesystem::create_directories(folder, error);
  return open((folder / file_name(device)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
              S_IRUSR | S_IWUSR);
}

}  // namespace

Turn::Turn(const Device& device, double patience_s, const std::function<bool()>& cancelled)
    : thread_(mutex_of(device)), file_(open_lock_file(device)) {
  if (file_ < 0) return;
  const auto end = Clock::now() + std::chrono::duration<double>(patience_s);
  bool said = false;
  while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (!said) log::info("another process is tuning for {}: waiting for it", device.name());
    said = true;
    if (Clock::now() > end || (cancelled && cancelled())) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Turn::~Turn() {
  if (file_ >= 0) close(file_);
}

}  // namespace gemwright::tune
