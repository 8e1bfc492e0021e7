// Compiled kernels on disk. Every fault (a full disk, a cut or forged file, a folder that is gone)
// is a logged miss; nothing here throws for it.
#pragma once

#include "compile/compiler.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gemwright::compile {

/// One file of the cache, for people.
struct CacheEntry {
  std::string file_name;
  std::string source;    // "gemm_mma.cu"
  std::string compiler;  // "nvrtc13.0"
  std::string target;    // "sm_90a"
  std::string date;      // UTC, ISO 8601
  std::uintmax_t bytes = 0;
  BuildReport report;   // with the time that compiling took
  std::string problem;  // why it would not be used; empty when it would
};

/// A folder of entries named <key>-<compiler>.cubin. Written as temporary files that are renamed,
/// so that any number of processes may share it. An entry is used only when its checksum and key
/// match, and when it and the folder belong to the user and are not writable by others.
class Cache {
 public:
  explicit Cache(std::filesystem::path folder, std::uintmax_t max_bytes = kDefaultMaxBytes);
  /// $GEMWRIGHT_CACHE, else $XDG_CACHE_HOME/gemwright/cubin, else ~/.cache/gemwright/cubin; of at
  /// most $GEMWRIGHT_CACHE_MB megabytes.
  static Cache user();

  /// The entry of that key by that compiler; an empty compiler takes the newest one's.
  std::optional<Compiled> load(const std::string& key, const std::string& compiler) const;
  /// Keeps it, and removes the entries that were not used for longest beyond the size bound.
  void keep(const std::string& key, const std::string& compiler, const Source& source,
            const Compiled& compiled) const;

  /// Every entry, read and checked.
  std::vector<CacheEntry> list() const;
  /// Removes one by its file's name; whether it was there.
  bool remove(const std::string& file_name) const;
  /// Removes the entries that would not be used; how many.
  int remove_bad() const;
  /// Removes every entry; how many.
  int clear() const;
  const std::filesystem::path& folder() const { return folder_; }

  static constexpr std::uintmax_t kDefaultMaxBytes = 1U << 30;

 private:
  void evict() const;

  std::filesystem::path folder_;
  std::uintmax_t max_bytes_;
};

}  // namespace gemwright::compile
