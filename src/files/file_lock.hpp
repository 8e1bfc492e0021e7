// A lock between processes that is waited for only so long.
#pragma once

#include <filesystem>
#include <functional>

namespace gemwright::files {

/// Locks a file (made when missing, mode 0600) as long as this lives; the lock is gone with the
/// process, however that ends.
class FileLock {
 public:
  enum class Kind : unsigned char { shared, alone };

  /// Waits for `patience_s` at most, and no longer than until `stop` says so. `waiting` is called
  /// once when somebody else holds it.
  FileLock(const std::filesystem::path& path, Kind kind, double patience_s,
           const std::function<void()>& waiting = {}, const std::function<bool()>& stop = {});
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// False when it was not to be had in time.
  bool held() const { return held_; }
  /// False where the file can be neither opened nor made, or its file system has no locks.
  bool possible() const { return file_ >= 0; }

 private:
  int file_;
  bool held_ = false;
};

}  // namespace gemwright::files
