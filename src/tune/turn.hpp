// One tuning of a device at a time, among the threads and the processes of a user.
#pragma once

#include "files/file_lock.hpp"
#include <gemwright/device.hpp>

#include <functional>
#include <memory>
#include <mutex>

namespace gemwright::tune {

/// Two tunings at once on one device would measure each other. Waits for the other's end; for
/// another process no longer than `patience_s`, and not where no lock file can be made: measuring
/// badly is better than not answering.
class Turn {
 public:
  Turn(const Device& device, double patience_s, const std::function<bool()>& cancelled);

 private:
  std::unique_lock<std::mutex> thread_;
  files::FileLock process_;
};

}  // namespace gemwright::tune
