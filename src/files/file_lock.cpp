#include "files/file_lock.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace gemwright::files {

FileLock::FileLock(const std::filesystem::path& path, Kind kind, double patience_s,
                   const std::function<void()>& waiting, const std::function<bool()>& stop)
    : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (file_ < 0) return;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(patience_s);
  const int operation = (kind == Kind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  bool said = false;
  while (flock(file_, operation) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {  // a file system without locks
      close(file_);
      file_ = -1;
      return;
    }
    if (!said && waiting) waiting();
    said = true;
    if (Clock::now() > end || (stop && stop())) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  held_ = true;
}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace gemwright::files
