#include "device/workspace.hpp"

#include "device/cuda/driver.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>

#include <fmt/format.h>

namespace gemwright::device {
namespace {

using cuda::check;
using cuda::CurrentContext;
using cuda::Driver;
using cuda::driver;

constexpr std::size_t kSlots = 1024;
constexpr std::size_t kLeastBytes = std::size_t{1} << 20;

// Block of one stream. Once a slot has a stream it keeps it; the block only grows. A handle is
// given to another stream only when the first one's work has ended, so the block may be, too.
struct Slot {
  std::atomic<std::uint64_t> stream{0};  // its key; 0: free
  std::atomic<void*> data{nullptr};
  std::atomic<std::size_t> bytes{0};
};

// No call of the driver: under graph capture it refuses to tell a stream's id.
std::uint64_t stream_key(const Device& device, Stream stream) {
  auto handle = reinterpret_cast<std::uintptr_t>(stream.handle);
  const std::uint64_t of_device = static_cast<std::uint64_t>(device.ordinal() + 1) << 56;
  if (stream.handle == CU_STREAM_LEGACY) handle = 0;
  if (stream.handle != CU_STREAM_PER_THREAD) return of_device + handle;
  // One handle stands for a stream in every thread.
  static thread_local char of_this_thread = 0;
  return of_device + reinterpret_cast<std::uintptr_t>(&of_this_thread);
}

void* allocate(const Driver& api, const Device& device, Stream stream, std::size_t bytes) {
  const CurrentContext current(device.ordinal());
  auto* handle = static_cast<CUstream>(stream.handle);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(api.stream_is_capturing(handle, &status), "cuStreamIsCapturing");
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) {
    throw DeviceError(
        "the first run of a plan on a stream needs its workspace allocated, which a stream under "
        "graph capture does not allow: run once before, or pass a workspace");
  }
  CUdeviceptr memory = 0;
  check(api.mem_alloc(&memory, bytes), fmt::format("{} bytes of workspace", bytes).c_str());
  check(api.memset_bytes(memory, 0, bytes, handle), "cuMemsetD8Async");
  return reinterpret_cast<void*>(memory);
}

}  // namespace

void* stream_workspace(const Device& device, Stream stream, std::size_t bytes) {
  static const Driver& api = driver();
  static std::array<Slot, kSlots> slots;
  static std::mutex mutex;

  const std::uint64_t key = stream_key(device, stream);
  for (std::size_t probe = 0; probe < kSlots; ++probe) {
    Slot& slot = slots[(key * 0x9E3779B97F4A7C15U + probe) % kSlots];
    std::uint64_t owner = slot.stream.load(std::memory_order_acquire);
    if (owner == 0 && slot.stream.compare_exchange_strong(owner, key)) owner = key;
    if (owner != key) continue;
    // The size is published after the block: whoever sees it large enough sees the block too.
    if (slot.bytes.load(std::memory_order_acquire) >= bytes) {
      return slot.data.load(std::memory_order_relaxed);
    }
    const std::lock_guard lock(mutex);
    if (slot.bytes.load(std::memory_order_relaxed) < bytes) {
      // The old block stays: runs in flight and captured graphs still use it.
      const std::size_t rounded = std::bit_ceil(std::max(bytes, kLeastBytes));
      slot.data.store(allocate(api, device, stream, rounded), std::memory_order_relaxed);
      slot.bytes.store(rounded, std::memory_order_release);
    }
    return slot.data.load(std::memory_order_relaxed);
  }
  throw DeviceError(fmt::format("more than {} streams run plans: pass a workspace", kSlots));
}

}  // namespace gemwright::device
