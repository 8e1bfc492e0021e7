#include "device/cuda/launch.hpp"

#include "device/cuda/driver.hpp"
#include "device/profile.hpp"
#include "log/log.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include <fmt/format.h>

namespace gemwright::cuda {
namespace {

CUfunction as_function(void* handle) {
  return static_cast<CUfunction>(handle);
}

bool clustered(const LaunchShape& shape) {
  return shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1;
}

// A launch configuration and the attributes that it points to.
struct Config {
  std::array<CUlaunchAttribute, 2> attributes;
  CUlaunchConfig config{};

  Config(const LaunchShape& shape, bool dependent, Stream stream) {
    config.gridDimX = shape.grid[0];
    config.gridDimY = shape.grid[1];
    config.gridDimZ = shape.grid[2];
    config.blockDimX = shape.threads;
    config.blockDimY = 1;
    config.blockDimZ = 1;
    config.sharedMemBytes = shape.shared_bytes;
    config.hStream = static_cast<CUstream>(stream.handle);
    config.attrs = attributes.data();
    if (clustered(shape)) {
      auto& attribute = attributes[config.numAttrs++];
      attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attribute.value.clusterDim.x = shape.cluster[0];
      attribute.value.clusterDim.y = shape.cluster[1];
      attribute.value.clusterDim.z = shape.cluster[2];
    }
    if (dependent) {
      auto& attribute = attributes[config.numAttrs++];
      attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attribute.value.programmaticStreamSerializationAllowed = 1;
    }
  }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
};

[[noreturn]] void throw_launch_error(CUresult result, const std::string& kernel,
                                     const LaunchShape& shape) {
  check(result,
        fmt::format("launch of {} (grid {}x{}x{}, {} threads, {} bytes of shared memory, "
                    "cluster {}x{}x{})",
                    kernel, shape.grid[0], shape.grid[1], shape.grid[2], shape.threads,
                    shape.shared_bytes, shape.cluster[0], shape.cluster[1], shape.cluster[2])
            .c_str());
  throw DeviceError("launch of " + kernel);
}

}  // namespace

LoadedKernel::LoadedKernel(const Device& device, const compile::Compiled& compiled,
                           std::string name)
    : cubin_(compiled.cubin),
      name_(std::move(name)),
      ordinal_(device.ordinal()),
      multiprocessors_(device.profile().cuda.multiprocessors),
      dependent_launch_(device.profile().cuda.sm >= 90) {
  if (device.present()) load_library(device.profile().cuda.sm);
}

void LoadedKernel::load_library(int sm) {
  driver_ = &driver();
  context_ = primary_context(ordinal_);
  CUlibrary library = nullptr;
  check(driver_->library_load_data(&library, cubin_->data(), nullptr, nullptr, 0, nullptr, nullptr,
                                   0),
        ("loading " + name_).c_str());
  library_ = library;
  CUkernel kernel = nullptr;
  check(driver_->library_get_kernel(&kernel, library, name_.c_str()),
        ("finding kernel " + name_).c_str());
  kernel_ = kernel;
  // Loads the code now: a first launch may be under graph capture, where loading is not allowed.
  const CurrentContext current(ordinal_);
  CUfunction function = nullptr;
  check(driver_->kernel_get_function(&function, kernel), ("loading " + name_).c_str());
  function_ = function;
  if (sm >= 90) {
    CUdevice handle = 0;
    check(driver_->device_get(&handle, ordinal_), "cuDeviceGet");
    // Clusters of 16; a device that refuses says so again at the launch.
    driver_->kernel_set_attribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel,
                                  handle);
  }
}

void LoadedKernel::allow_shared(unsigned bytes) {
  if (driver_ == nullptr || bytes <= allowed_shared_bytes_) return;
  CUdevice handle = 0;
  check(driver_->device_get(&handle, ordinal_), "cuDeviceGet");
  check(driver_->kernel_set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(bytes), static_cast<CUkernel>(kernel_),
                                      handle),
        fmt::format("allowing {} bytes of shared memory to {}", bytes, name_).c_str());
  allowed_shared_bytes_ = bytes;
}

std::shared_ptr<const LoadedKernel> LoadedKernel::load(const Device& device,
                                                       const compile::Compiled& compiled,
                                                       const std::string& kernel_name,
                                                       unsigned shared_bytes) {
  if (device.kind() != DeviceKind::cuda) throw DeviceError(device.name() + " is no GPU");
  // The compiler hands out one cubin per source, so its address identifies it; each kept kernel
  // holds its cubin, so the address is not used again.
  using Key = std::tuple<bool, int, const void*, std::string>;
  static std::mutex mutex;
  static auto& kernels = *new std::map<Key, std::shared_ptr<LoadedKernel>>;
  const std::lock_guard lock(mutex);
  auto& kernel = kernels[{device.present(), device.ordinal(), compiled.cubin.get(), kernel_name}];
  if (kernel == nullptr) kernel.reset(new LoadedKernel(device, compiled, kernel_name));
  kernel->allow_shared(shared_bytes);
  return kernel;
}

bool LoadedKernel::needs_context(Stream stream) const {
  // A created stream brings its own context; the default ones (0, legacy, per thread) stand for
  // whichever is current, which need not be on this device.
  if (reinterpret_cast<std::uintptr_t>(stream.handle) > 2) return false;
  CUcontext current = nullptr;
  driver_->ctx_get_current(&current);
  if (current == context_) return false;
  CUdevice device = 0;
  CUdevice own = 0;
  return current == nullptr || driver_->ctx_get_device(&device) != CUDA_SUCCESS ||
         driver_->device_get(&own, ordinal_) != CUDA_SUCCESS || device != own;
}

void LoadedKernel::launch(const LaunchShape& shape, void** arguments, Stream stream) const {
  if (driver_ == nullptr) {
    throw DeviceError(name_ + " was built for a GPU that is only described: it cannot run");
  }
  const Config config(shape, shape.dependent && dependent_launch_, stream);
  std::optional<CurrentContext> current;
  if (needs_context(stream)) current.emplace(ordinal_);
  const CUresult result =
      driver_->launch_kernel_ex(&config.config, as_function(kernel_), arguments, nullptr);
  if (result != CUDA_SUCCESS) throw_launch_error(result, name_, shape);
}

int LoadedKernel::max_active_clusters(const LaunchShape& shape) const {
  const unsigned ctas = shape.cluster[0] * shape.cluster[1] * shape.cluster[2];
  if (driver_ == nullptr) return multiprocessors_ / static_cast<int>(ctas);
  const CurrentContext current(ordinal_);
  int count = 0;
  if (clustered(shape)) {
    const Config config(shape, false, {});
    check(driver_->max_active_clusters(&count, as_function(function_), &config.config),
          "cuOccupancyMaxActiveClusters");
    return count;
  }
  check(driver_->max_active_blocks(&count, as_function(function_), static_cast<int>(shape.threads),
                                   shape.shared_bytes),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return count * multiprocessors_;
}

}  // namespace gemwright::cuda
