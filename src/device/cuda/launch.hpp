// Loading and launching compiled kernels through the driver, which is opened at run time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "compile/compiler.hpp"

namespace gemwright::cuda {

/// Grid, block and cluster of a launch.
struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};
  unsigned threads = 128;
  unsigned shared_bytes = 0;
  std::array<unsigned, 3> cluster{1, 1, 1};
  /// Programmatic dependent launch: only for kernels that execute griddepcontrol.wait.
  bool dependent = false;
};

/// A kernel loaded on one device. Thread safe; kept for the process's life.
class LoadedKernel {
 public:
  /// Loads into the device's primary context (without making it current for the caller after), and
  /// allows `shared_bytes` of dynamic shared memory. Throws DeviceError.
  static std::shared_ptr<const LoadedKernel> load(const Device& device,
                                                  const compile::Compiled& compiled,
                                                  const std::string& kernel_name,
                                                  unsigned shared_bytes);
  /// `arguments` point to the kernel's parameters in order. Throws DeviceError.
  void launch(const LaunchShape& shape, void** arguments, Stream stream) const;
  /// Largest number of co-resident CTAs (clusters of `cluster` CTAs) on the whole device.
  int max_active_clusters(const LaunchShape& shape) const;

  virtual ~LoadedKernel() = default;

 protected:
  LoadedKernel() = default;
};

/// A TMA descriptor, opaque; passed by value as a const __grid_constant__ kernel parameter.
struct alignas(64) TensorMap {
  std::array<std::byte, 128> bytes;
};

/// What cuTensorMapEncodeTiled takes, for up to 5 dimensions, innermost first.
struct TensorMapShape {
  int rank = 2;
  DataType type = DataType::bf16;
  std::array<std::uint64_t, 5> size{};
  std::array<std::uint64_t, 5> stride_bytes{};  // of dimensions 1 and up; [0] is unused
  std::array<std::uint32_t, 5> box{};
  int swizzle_bytes = 128;  // 0, 32, 64 or 128
};

/// Encodes a descriptor; pure CPU work, well under a microsecond. Throws DeviceError.
void encode(TensorMap& map, const TensorMapShape& shape, const void* base);

}  // namespace gemwright::cuda
