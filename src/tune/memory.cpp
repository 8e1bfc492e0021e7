#include "tune/memory.hpp"

#include <gemwright/errors.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace gemwright::tune {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// What may be taken of what is left: a machine that is filled to the last page swaps, or kills.
std::size_t share_of(std::size_t left, std::size_t total) {
  constexpr std::size_t kReserve = std::size_t{1} << 30;
  return left - std::min({kReserve, total / 8, left / 2});
}

std::size_t of_machine() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::size_t kib = 0;
  std::string unit;
  std::size_t total = 0;
  while (file >> name >> kib && std::getline(file, unit)) {
    if (name == "MemTotal:") total = kib << 10;
    if (name == "MemAvailable:") return share_of(kib << 10, total);
  }
  return kUnlimited;
}

std::size_t read_size(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? value : kUnlimited;  // "max" does not parse
}

// Of the control group that a container sees as its root.
std::size_t of_group() {
  const std::size_t limit = read_size("/sys/fs/cgroup/memory.max");
  const std::size_t used = read_size("/sys/fs/cgroup/memory.current");
  if (limit == kUnlimited || used == kUnlimited) return kUnlimited;
  return share_of(limit - std::min(limit, used), limit);
}

}  // namespace

std::size_t available_memory() {
  return std::min(of_machine(), of_group());
}

bool workspace_fits(std::size_t bytes) {
  constexpr std::size_t kAlwaysThere = std::size_t{64} << 20;
  return bytes <= kAlwaysThere || bytes <= available_memory();
}

Pages::Pages(std::size_t bytes, bool guard, std::size_t alignment) {
  const std::size_t body = (bytes + kPage - 1) / kPage * kPage;
  map_bytes_ = std::max(body, kPage) + (guard ? kPage : 0);
  if (map_bytes_ > available_memory()) {
    throw OutOfMemory("test operands of " + std::to_string(bytes >> 20) +
                      " MiB do not fit into the memory that is left");
  }
  map_ = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map_ == MAP_FAILED) {
    map_ = nullptr;
    throw OutOfMemory("mmap of " + std::to_string(map_bytes_ >> 20) + " MiB failed");
  }
  data_ = static_cast<std::byte*>(map_);
  if (guard) {
    std::byte* end = data_ + map_bytes_ - kPage;
    mprotect(end, kPage, PROT_NONE);
    data_ = end - (bytes + alignment - 1) / alignment * alignment;
  } else {
    madvise(map_, map_bytes_, MADV_HUGEPAGE);  // a hint
  }
}

Pages::~Pages() {
  if (map_ != nullptr) munmap(map_, map_bytes_);
}

Pages::Pages(Pages&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)),
      map_bytes_(std::exchange(other.map_bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(map_bytes_, other.map_bytes_);
  std::swap(data_, other.data_);
  return *this;
}

}  // namespace gemwright::tune
