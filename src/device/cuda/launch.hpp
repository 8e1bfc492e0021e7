// Loading and launching compiled kernels through the driver, which is opened at run time.
#pragma once

#include "compile/compiler.hpp"
#include <gemwright/device.hpp>
#include <gemwright/problem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gemwright::cuda {

struct Driver;

/// Grid, block and cluster of a launch.
struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};
  unsigned threads = 128;
  unsigned shared_bytes = 0;
  std::array<unsigned, 3> cluster{1, 1, 1};
  /// Programmatic dependent launch: only for kernels that execute griddepcontrol.wait. Ignored
  /// below sm_90.
  bool dependent = false;
};

/// A kernel loaded on one device. Thread safe; kept for the process's life.
class LoadedKernel {
 public:
  /// Loads for the device (the caller's current context stays what it is), and allows
  /// `shared_bytes` of dynamic shared memory. The same cubin is loaded once per device. For a
  /// device that is only described nothing is loaded, and launching throws. Throws DeviceError.
  static std::shared_ptr<const LoadedKernel> load(const Device& device,
                                                  const compile::Compiled& compiled,
                                                  const std::string& kernel_name,
                                                  unsigned shared_bytes);
  /// `arguments` point to the kernel's parameters in order. No lock, no allocation. Throws
  /// DeviceError.
  void launch(const LaunchShape& shape, void** arguments, Stream stream) const;
  /// Largest number of co-resident clusters (CTAs where the cluster is 1) on the whole device; for
  /// a described one, as many as it has multiprocessors for.
  int max_active_clusters(const LaunchShape& shape) const;

  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

 private:
  LoadedKernel(const Device& device, const compile::Compiled& compiled, std::string name);
  void load_library(int sm);
  void allow_shared(unsigned bytes);
  bool needs_context(Stream stream) const;

  // Driver handles as pointers, so that this header needs none of CUDA's.
  const Driver* driver_ = nullptr;  // null for a described device
  std::shared_ptr<const std::vector<char>> cubin_;
  std::string name_;
  int ordinal_;
  int multiprocessors_;
  bool dependent_launch_;
  unsigned allowed_shared_bytes_ = 0;
  void* context_ = nullptr;   // CUcontext: the device's primary one
  void* library_ = nullptr;   // CUlibrary
  void* kernel_ = nullptr;    // CUkernel: good in any context of the device
  void* function_ = nullptr;  // CUfunction of the primary context
};

/// A TMA descriptor, opaque; passed by value as a const __grid_constant__ kernel parameter.
struct alignas(64) TensorMap {
  std::array<std::byte, 128> bytes;
};

/// What cuTensorMapEncodeTiled takes, for up to 5 dimensions, innermost first. Sizes are in
/// elements and not zero; strides are multiples of 16 below 2^40; box dimensions are at most 256.
struct TensorMapShape {
  int ordinal = 0;  // of the device whose memory it describes
  int rank = 2;
  DataType type = DataType::bf16;
  bool tf32 = false;  // f32 only: elements are rounded to tf32 as they are loaded
  std::array<std::uint64_t, 5> size{};
  std::array<std::uint64_t, 5> stride_bytes{};  // of dimensions 1 and up; [0] is unused
  std::array<std::uint32_t, 5> box{};
  int swizzle_bytes = 128;  // 0, 32, 64 or 128
  // 0, 64, 128 or 256. At 256, memory is read more slowly in boxes of 128 bytes a row (by up to
  // 8 %: docs/performance/hopper.md).
  int l2_promotion_bytes = 128;

  bool operator==(const TensorMapShape&) const = default;
};

/// Encodes a descriptor, or takes it from those that this thread has encoded lately: weights, and
/// often activations, come again. Throws DeviceError.
void encode(TensorMap& map, const TensorMapShape& shape, const void* base);

}  // namespace gemwright::cuda
