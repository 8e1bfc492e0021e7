#include "files/files.hpp"

#include <gemwright/errors.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gemwright::files {
namespace {

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

void make_folder(const std::filesystem::path& folder) {
  if (folder.empty() || std::filesystem::exists(folder)) return;
  make_folder(folder.parent_path());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error("cannot make the folder " + folder.string() + ": " + std::strerror(errno));
  }
}

bool write_all(int file, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(file, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(file) == 0;
}

}  // namespace

std::filesystem::path cache_folder() {
  // The specification of XDG says to ignore a relative path.
  const std::filesystem::path base = environment("XDG_CACHE_HOME");
  if (base.is_absolute()) return base / "gemwright";
  const std::string home = environment("HOME");
  return std::filesystem::path(home.empty() ? "/tmp" : home) / ".cache" / "gemwright";
}

std::optional<std::string> read(const std::filesystem::path& path) {
  const std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream contents;
  contents << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return std::move(contents).str();
}

void write_atomically(const std::filesystem::path& path, std::string_view contents) {
  make_folder(path.parent_path());
  std::string temporary = path.string() + ".XXXXXX";
  const int file = mkstemp(temporary.data());
  bool good = file >= 0 && write_all(file, contents);
  if (file >= 0) good = close(file) == 0 && good;
  good = good && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (good) return;
  const std::string reason = std::strerror(errno);
  if (file >= 0) unlink(temporary.c_str());
  throw Error("cannot write " + path.string() + ": " + reason);
}

}  // namespace gemwright::files
