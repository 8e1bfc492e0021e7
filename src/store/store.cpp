#include "files/files.hpp"
#include "store/database.hpp"
#include <gemwright/store.hpp>

#include <cstdlib>

namespace gemwright {
namespace {

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

}  // namespace

Store Store::user() {
  auto path = from_environment("GEMWRIGHT_STORE");
  if (path.empty()) path = files::cache_folder() / "store.db";
  return open(path, from_environment("GEMWRIGHT_SHIPPED_STORE"));
}

Store Store::open(const std::filesystem::path& path, const std::filesystem::path& shipped) {
  auto database = store::open_file(path);
  if (!shipped.empty()) {
    database = store::layered(std::move(database), store::open_shipped(shipped));
  }
  return Store(std::move(database));
}

Store Store::none() {
  return Store(store::open_memory());
}

}  // namespace gemwright
