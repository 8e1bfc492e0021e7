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
  /// after it.
  static Store user();
  /// A store at a path, made when missing; an optional read-only one is consulted after it.
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
