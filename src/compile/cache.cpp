#include "compile/cache.hpp"

#include "compile/entry.hpp"
#include "files/environment.hpp"
#include "files/files.hpp"
#include "log/log.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gemwright::compile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".cubin";
constexpr std::string_view kTemporaryPrefix = ".writing-";

std::string system_error() {
  return std::strerror(errno);
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Empty when what is open belongs to the user and only the user may write it.
std::string distrust(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error();
  if (info.st_uid != ::geteuid()) return fmt::format("it belongs to user {}", info.st_uid);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it (chmod go-w)";
  return {};
}

// The folder, held open so that what is trusted is what is read.
int open_folder(const fs::path& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Throws Error when the file is not to be trusted or does not read.
std::string read_trusted(int folder, const std::string& name) {
  const Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) throw Error(system_error());
  if (auto why = distrust(file.get()); !why.empty()) throw Error(why);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw Error(system_error());
  if (!S_ISREG(info.st_mode)) throw Error("it is not a file");
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw Error("it does not read to its end");
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

// Throws Error when it cannot be written whole.
void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error(system_error());
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(fd) != 0) throw Error(system_error());
}

std::string file_name(const std::string& key, const std::string& compiler) {
  return fmt::format("{}-{}{}", key, compiler, kSuffix);
}

bool is_entry(const fs::path& path) {
  return path.filename().string().ends_with(kSuffix);
}

// Names of the entries in a folder; none when it cannot be read.
std::vector<std::string> entry_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (is_entry(it->path())) names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "nvrtc13.0" as 13000000 + 0, so that 13.10 comes after 13.2.
long compiler_rank(std::string_view name) {
  long major = 0;
  long minor = 0;
  const auto digit = name.find_first_of("0123456789");
  if (digit == std::string_view::npos) return 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + digit, end, major);
  if (parsed.ptr < end && *parsed.ptr == '.') std::from_chars(parsed.ptr + 1, end, minor);
  return major * 1000000 + minor;
}

// The entry of that key by the newest compiler; empty when there is none.
std::string newest_name(const fs::path& folder, const std::string& key) {
  std::string newest;
  for (const auto& name : entry_names(folder)) {
    if (!name.starts_with(key + "-")) continue;
    if (newest.empty() ||
        compiler_rank(name.substr(key.size())) > compiler_rank(newest.substr(key.size()))) {
      newest = name;
    }
  }
  return newest;
}

}  // namespace

Cache::Cache(fs::path folder, std::uintmax_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

Cache Cache::user() {
  std::uintmax_t max_bytes = kDefaultMaxBytes;
  if (const auto megabytes = files::environment("GEMWRIGHT_CACHE_MB"); !megabytes.empty()) {
    std::uintmax_t value = 0;
    const auto parsed =
        std::from_chars(megabytes.data(), megabytes.data() + megabytes.size(), value);
    if (parsed.ec == std::errc() && *parsed.ptr == '\0') {
      max_bytes = value << 20;
    } else {
      log::warn("GEMWRIGHT_CACHE_MB is \"{}\", not a number of megabytes", megabytes);
    }
  }
  const std::string folder = files::environment("GEMWRIGHT_CACHE");
  if (!folder.empty()) return Cache(folder, max_bytes);
  return Cache(files::cache_folder() / "cubin", max_bytes);
}

std::optional<Compiled> Cache::load(const std::string& key, const std::string& compiler) const {
  const Descriptor folder(open_folder(folder_));
  if (!folder) return std::nullopt;
  if (const auto why = distrust(folder.get()); !why.empty()) {
    log::warn("compile cache {} is not used: {}", folder_.string(), why);
    return std::nullopt;
  }
  const auto name = compiler.empty() ? newest_name(folder_, key) : file_name(key, compiler);
  if (name.empty() || ::faccessat(folder.get(), name.c_str(), F_OK, 0) != 0) return std::nullopt;
  try {
    auto entry = parse_entry(read_trusted(folder.get(), name));
    if (entry.key != key) throw Error("it holds another key");
    // Marks it as used, for the eviction.
    ::utimensat(folder.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return std::move(entry.compiled);
  } catch (const Error& error) {
    log::warn("compile cache entry {} is not used: {}", (folder_ / name).string(), error.what());
    return std::nullopt;
  }
}

void Cache::keep(const std::string& key, const std::string& compiler, const Source& source,
                 const Compiled& compiled) const {
  static std::atomic<unsigned> counter{0};
  const auto temporary = fmt::format("{}{}-{}", kTemporaryPrefix, ::getpid(), counter.fetch_add(1));
  try {
    std::error_code error;
    if (fs::create_directories(folder_, error)) {
      fs::permissions(folder_, fs::perms::owner_all, error);
    }
    const Descriptor folder(open_folder(folder_));
    if (!folder) throw Error(system_error());
    if (auto why = distrust(folder.get()); !why.empty()) throw Error(why);
    const Descriptor file(::openat(folder.get(), temporary.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) throw Error(system_error());
    try {
      write_all(file.get(), serialize(key, compiler, source, compiled));
      if (::renameat(folder.get(), temporary.c_str(), folder.get(),
                     file_name(key, compiler).c_str()) != 0) {
        throw Error(system_error());
      }
    } catch (const Error&) {
      ::unlinkat(folder.get(), temporary.c_str(), 0);
      throw;
    }
    ::fsync(folder.get());
  } catch (const Error& error) {
    log::warn("compile cache {} does not take {}: {}", folder_.string(), source.file, error.what());
    return;
  }
  evict();
}

void Cache::evict() const {
  struct File {
    fs::path path;
    fs::file_time_type used;
    std::uintmax_t bytes;
  };
  const auto abandoned = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::vector<File> files;
  std::uintmax_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    File file{it->path(), it->last_write_time(ignored), it->file_size(ignored)};
    if (ignored) continue;  // another process removed it
    if (is_entry(file.path)) {
      total += file.bytes;
      files.push_back(std::move(file));
    } else if (file.path.filename().string().starts_with(kTemporaryPrefix) &&
               file.used < abandoned) {
      fs::remove(file.path, ignored);
    }
  }
  if (total <= max_bytes_) return;
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  for (const auto& file : files) {
    if (total <= max_bytes_) break;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> entries;
  const Descriptor folder(open_folder(folder_));
  if (!folder) return entries;
  const auto folder_problem = distrust(folder.get());
  for (const auto& name : entry_names(folder_)) {
    CacheEntry entry;
    try {
      auto parsed = parse_entry(read_trusted(folder.get(), name));
      entry = std::move(parsed.about);
      if (!name.starts_with(parsed.key + "-")) entry.problem = "it holds another key";
    } catch (const Error& error) {
      entry.problem = error.what();
    }
    if (!folder_problem.empty()) entry.problem = "folder: " + folder_problem;
    entry.file_name = name;
    std::error_code ignored;
    entry.bytes = fs::file_size(folder_ / name, ignored);
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool Cache::remove(const std::string& file_name) const {
  std::error_code ignored;
  return fs::remove(folder_ / file_name, ignored);
}

int Cache::remove_bad() const {
  int removed = 0;
  for (const auto& entry : list()) {
    if (!entry.problem.empty() && remove(entry.file_name)) ++removed;
  }
  return removed;
}

int Cache::clear() const {
  int removed = 0;
  for (const auto& name : entry_names(folder_)) removed += remove(name) ? 1 : 0;
  return removed;
}

}  // namespace gemwright::compile
