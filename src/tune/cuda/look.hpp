// Looks through D on its device.
#pragma once

#include "device/cuda/launch.hpp"
#include "device/cuda/memory.hpp"
#include <gemwright/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gemwright::tune {

class Look {
 public:
  /// For elements of that type. Null when its kernels cannot be had: NVRTC is missing, and they are
  /// not in the cache. Throws DeviceError.
  static std::unique_ptr<Look> make(const Device& device, DataType type);

  struct Counts {
    std::int64_t nan = 0;
    std::int64_t ones = 0;  // elements of which all bits are set
  };
  /// `first` is aligned to an element. Waits. Throws DeviceError.
  Counts count(CUdeviceptr first, std::int64_t elements, const cuda::OwnStream& stream) const;
  std::vector<double> gather(CUdeviceptr first, std::span<const std::int64_t> places,
                             const cuda::OwnStream& stream) const;

 private:
  Look(const Device& device, DataType type, const compile::Compiled& compiled);

  int ordinal_;
  DataType type_;
  std::shared_ptr<const cuda::LoadedKernel> count_;
  std::shared_ptr<const cuda::LoadedKernel> gather_;
};

}  // namespace gemwright::tune
