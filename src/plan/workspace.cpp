#include "device/workspace.hpp"

#include "plan/execute.hpp"
#include "tune/memory.hpp"
#include <gemwright/errors.hpp>

#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <sys/mman.h>

namespace gemwright {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kHugePage = 2 << 20;

// Beyond this memory is only mapped: as large as a workspace grows with absurd sizes, planning is
// no reason to touch all of it.
constexpr std::size_t kMapped = std::size_t{64} << 20;

void* map_pages(std::size_t bytes) {
  const std::size_t left = tune::available_memory();
  void* memory = bytes > left ? MAP_FAILED
                              : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw OutOfMemory(
        fmt::format("a workspace of {} MiB does not fit into the {} MiB of memory that are left",
                    bytes >> 20, left >> 20));
  }
  madvise(memory, bytes, MADV_HUGEPAGE);  // where it is refused, pages stay small
  return memory;
}

// Large ones on huge pages: packed operands are read with long strides, and on a virtual machine a
// miss of the TLB costs two walks.
void* allocate(std::size_t bytes) {
  if (bytes > kMapped) return map_pages(bytes);
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // Where it is refused, pages stay small.
  if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
  std::memset(memory, 0, rounded);
  return memory;
}

void release(void* memory, std::size_t bytes) {
  if (memory == nullptr) return;
  if (bytes > kMapped) {
    munmap(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace

WorkspacePool::WorkspacePool(Device device, std::size_t bytes)
    : device_(std::move(device)), bytes_(bytes) {
  if (bytes_ > 0 && device_.kind() == DeviceKind::cpu) free_[0] = allocate(bytes_);
}

WorkspacePool::~WorkspacePool() {
  for (auto& slot : free_) release(slot.load(), bytes_);
}

void* WorkspacePool::take(Stream stream) {
  if (bytes_ == 0) return nullptr;
  if (device_.kind() == DeviceKind::cuda) return device::stream_workspace(device_, stream, bytes_);
  for (auto& slot : free_) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (void* workspace = slot.exchange(nullptr, std::memory_order_acquire)) return workspace;
  }
  return allocate(bytes_);
}

void WorkspacePool::give_back(void* workspace) {
  if (workspace == nullptr || device_.kind() == DeviceKind::cuda) return;
  for (auto& slot : free_) {
    void* expected = nullptr;
    if (slot.compare_exchange_strong(expected, workspace, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return;
    }
  }
  release(workspace, bytes_);
}

}  // namespace gemwright
