// The store of tuned results.
#pragma once

#include <filesystem>
#include <memory>

#pragma GCC visibility push(default)

namespace gemwright {

namespace store {
class Database;
}

/// A handle to tuned results on disk. Cheap to copy; safe from many threads and processes.
class Store {
 public:
  /// The user's store: $GEMWRIGHT_STORE, else $XDG_CACHE_HOME/gemwright/store.db, else
  /// ~/.cache/gemwright/store.db. A read-only store named by $GEMWRIGHT_SHIPPED_STORE is consulted
  /// after it. Throws as open() does for what GEMWRIGHT_STORE names.
  static Store user();
  /// A store at a path; an optional read-only one is consulted after it. Throws InvalidArgument,
  /// with nothing touched, where the path's folder is missing and more than its last part would
  /// have to be made, or where a file is that is no store. The file is made or opened at its first
  /// use: a store that is damaged or of another version is then moved aside and begun anew, and one
  /// that cannot be written answers as if empty, with "not kept" in Explanation::note.
  static Store open(const std::filesystem::path& path, const std::filesystem::path& shipped = {});
  /// Nothing is remembered beyond this object.
  static Store none();

  store::Database& database() const { return *database_; }
  explicit Store(std::shared_ptr<store::Database> database) : database_(std::move(database)) {}

 private:
  std::shared_ptr<store::Database> database_;
};

}  // namespace gemwright

#pragma GCC visibility pop
