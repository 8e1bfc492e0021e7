#include "files/files.hpp"

#include "files/environment.hpp"
#include "log/log.hpp"
#include <gemwright/errors.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gemwright::files {
namespace {

void make_folder(const std::filesystem::path& folder) {
  if (folder.empty() || std::filesystem::exists(folder)) return;
  make_folder(folder.parent_path());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error("cannot make the folder " + folder.string() + ": " + std::strerror(errno));
  }
}

// As the system's list of users has it; empty where this one is not in it.
std::filesystem::path home_of_user() {
  std::array<char, 16384> text{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr) {
    return {};
  }
  return found->pw_dir == nullptr ? "" : found->pw_dir;
}

// Whether the folder is there, or could be made, and nobody else may put files into it.
bool is_private(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat status {};
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Where others write too anybody could have made a folder of any name.
std::filesystem::path temporary_folder() {
  std::filesystem::path folder = "/tmp/gemwright-" + std::to_string(geteuid());
  if (is_private(folder)) return folder;
  static const bool said = [&] {
    log::notice("nothing is kept: there is no home folder, and " + folder.string() +
                " is not this user's alone; set HOME or XDG_CACHE_HOME");
    return true;
  }();
  static_cast<void>(said);
  return "/dev/null/gemwright";  // no file can be made there
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

// A new file beside the path, open for writing, with the mode that the user's umask allows:
// mkstemp()'s would be the user's alone. -1 with errno when there can be none.
int make_beside(const std::filesystem::path& path, std::string& name) {
  static std::atomic<unsigned> count{0};
  int file = -1;
  do {
    name = path.string() + "." + std::to_string(getpid()) + "-" + std::to_string(count++);
    file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file < 0 && errno == EEXIST);  // left by a process of that number
  return file;
}

}  // namespace

std::filesystem::path cache_folder() {
  // The specification of XDG says to ignore a relative path.
  const std::filesystem::path base = environment("XDG_CACHE_HOME");
  if (base.is_absolute()) return base / "gemwright";
  for (const std::filesystem::path& home :
       {std::filesystem::path(environment("HOME")), home_of_user()}) {
    // One that is not there is not made.
    std::error_code ignored;
    if (home.is_absolute() && std::filesystem::is_directory(home, ignored)) {
      return home / ".cache" / "gemwright";
    }
  }
  return temporary_folder();
}

void check_folder_of(const char* argument, const std::filesystem::path& path) {
  auto whole = std::filesystem::absolute(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // "name/"
  const auto folder = whole.parent_path();
  if (std::filesystem::is_directory(folder)) return;
  throw InvalidArgument(argument, path.string(),
                        "a name in a folder that is there; " + folder.string() + " is no folder");
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
  std::string temporary;
  const int file = make_beside(path, temporary);
  bool good = file >= 0 && write_all(file, contents);
  if (file >= 0) good = close(file) == 0 && good;
  good = good && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (good) return;
  const std::string reason = std::strerror(errno);
  if (file >= 0) unlink(temporary.c_str());
  throw Error("cannot write " + path.string() + ": " + reason);
}

}  // namespace gemwright::files
