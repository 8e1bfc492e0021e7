#include "store/database.hpp"
#include <gemwright/store.hpp>

#include <cstdlib>
#include <string_view>

namespace gemwright {
namespace {

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

std::filesystem::path user_path() {
  if (auto path = from_environment("GEMWRIGHT_STORE"); !path.empty()) return path;
  if (auto cache = from_environment("XDG_CACHE_HOME"); !cache.empty()) {
    return cache / "gemwright" / "store.db";
  }
  if (auto home = from_environment("HOME"); !home.empty()) {
    return home / ".cache" / "gemwright" / "store.db";
  }
  return {};
}

}  // namespace

Store Store::user() {
  const auto path = user_path();
  return path.empty() ? none() : open(path, from_environment("GEMWRIGHT_SHIPPED_STORE"));
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
