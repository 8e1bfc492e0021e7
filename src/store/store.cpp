#include "files/environment.hpp"
#include "files/files.hpp"
#include "store/database.hpp"
#include "store/place.hpp"
#include <gemwright/store.hpp>

namespace gemwright {
namespace {

Store open_layers(const std::filesystem::path& path, const std::filesystem::path& shipped) {
  auto database = store::open_file(path);
  if (!shipped.empty()) {
    database = store::layered(std::move(database), store::open_shipped(shipped));
  }
  return Store(std::move(database));
}

}  // namespace

std::filesystem::path store::user_path() {
  const std::filesystem::path path = files::environment("GEMWRIGHT_STORE");
  return path.empty() ? files::cache_folder() / "store.db" : path;
}

Store Store::user() {
  const std::filesystem::path path = store::user_path();
  store::check_place("GEMWRIGHT_STORE", path);
  return open_layers(path, files::environment("GEMWRIGHT_SHIPPED_STORE"));
}

Store Store::open(const std::filesystem::path& path, const std::filesystem::path& shipped) {
  store::check_place("path", path);
  return open_layers(path, shipped);
}

Store Store::none() {
  return Store(store::open_memory());
}

}  // namespace gemwright
