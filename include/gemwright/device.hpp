// Devices that plans are made for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace gemwright {

struct DeviceProfile;

enum class DeviceKind : unsigned char { cpu, cuda };

/// A device of this machine, or the description of a known one that is not here: those can be
/// planned for by the model, and compiled for, but not run on. Cheap to copy.
class Device {
 public:
  /// This machine's CPU. `threads` 0 means every core this process may run on; throws
  /// InvalidArgument for more than there are.
  static Device cpu(int threads = 0);
  /// The CUDA device of that ordinal. Throws DeviceError when there is no driver or no such device.
  static Device cuda(int ordinal = 0);
  /// "cpu", "cpu:4" (threads), "cuda", "cuda:1", or a known GPU's name such as "l40s", "h200".
  /// Throws InvalidArgument for a text that is none of these, and for no thread or too many.
  static Device parse(std::string_view text);
  /// Every device of this machine, GPUs first.
  static std::vector<Device> all();

  DeviceKind kind() const;
  /// As a person names it, for instance "NVIDIA H200".
  const std::string& name() const;
  /// As a file name, for instance "nvidia-h200".
  const std::string& slug() const;
  /// CUDA ordinal; 0 on a CPU.
  int ordinal() const { return ordinal_; }
  /// False for a known device that is only described.
  bool present() const { return present_; }
  /// What the store's rows are keyed by: name, architecture, units, clocks class; not the ordinal.
  std::string key() const;
  const DeviceProfile& profile() const { return *profile_; }

  Device(std::shared_ptr<const DeviceProfile> profile, int ordinal, bool present)
      : profile_(std::move(profile)), ordinal_(ordinal), present_(present) {}

 private:
  std::shared_ptr<const DeviceProfile> profile_;
  int ordinal_;
  bool present_;
};

/// Where work is enqueued: a CUstream on a GPU; ignored on a CPU, which runs in the caller's thread
/// and returns when done.
struct Stream {
  void* handle = nullptr;
};

}  // namespace gemwright

#pragma GCC visibility pop
