#include "files/files.hpp"
#include "store/database.hpp"
#include <gemwright/store.hpp>

namespace gemwright {

std::filesystem::path store::user_path() {
  const std::filesystem::path path = files::environment("GEMWRIGHT_STORE");
  return path.empty() ? files::cache_folder() / "store.db" : path;
}

Store Store::user() {
  return open(store::user_path(), files::environment("GEMWRIGHT_SHIPPED_STORE"));
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
