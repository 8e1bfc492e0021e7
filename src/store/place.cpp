#include "store/place.hpp"

#include "files/files.hpp"
#include "store/session.hpp"
#include "store/sqlite.hpp"

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/stat.h>

namespace gemwright::store {
namespace {

namespace fs = std::filesystem;

// Of SQLite's file format: the first bytes, and where the application's number is, big-endian.
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kIdOffset = 68;

bool is_default(const fs::path& path) {
  return path == files::cache_folder() / "store.db";
}

// SQLite keeps the text of CREATE TABLE on the first page, far from the header.
bool has_text_of_schema(std::string_view head) {
  return head.find("CREATE TABLE records (\n  problem TEXT") != std::string_view::npos;
}

// Made by FileLock: empty and private to the user, unlike those of other programs.
bool has_own_lock(const fs::path& path) {
  struct stat status {};
  return ::stat((path.string() + ".lock").c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_size == 0 && (status.st_mode & 077) == 0;
}

// Whether a sound database is a store, or has nothing in it yet; nothing where it is not sound.
// Without locks or side files, of which somebody else's database is to get none.
std::optional<bool> has_own_schema(const fs::path& path) {
  try {
    Connection database(path, Access::immutable);
    if (database.query_integer("PRAGMA application_id") == kApplicationId) return true;
    if (database.query_integer("SELECT count(*) FROM sqlite_schema") == 0) {
      // Nothing, or nothing yet: a write-ahead log, which was not read, may hold the tables.
      return database.query_integer("PRAGMA user_version") == 0 &&
             (has_own_lock(path) || !fs::exists(path.string() + "-wal"));
    }
    return database.query_integer(
               "SELECT count(*) FROM pragma_table_info('records') "
               "WHERE name IN ('problem', 'device')") == 2;
  } catch (const SqliteError&) {
    return std::nullopt;
  }
}

}  // namespace

bool is_foreign(const fs::path& path) {
  std::error_code ignored;
  switch (fs::status(path, ignored).type()) {
    case fs::file_type::regular:
      break;
    case fs::file_type::not_found:
    case fs::file_type::directory:
    case fs::file_type::none:
    case fs::file_type::unknown:
      return false;  // opening it says what is wrong with a folder, or one that may not be read
    default:
      return true;
  }

  std::string head(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.empty()) return false;
  if (head.starts_with(kMagic) && head.size() > kIdOffset + 4) {
    std::uint32_t id = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      id = id << 8 | static_cast<unsigned char>(head[kIdOffset + i]);
    }
    if (id == kApplicationId) return false;
    if (const auto own = has_own_schema(path)) return !*own && !is_default(path);
  }
  return !has_text_of_schema(head) && !has_own_lock(path) && !is_default(path);
}

void check_place(const char* argument, const fs::path& path) {
  if (path.empty()) throw InvalidArgument(argument, "no path", "the path of a file");
  if (is_default(path)) return;
  std::error_code ignored;
  const fs::path folder = fs::absolute(path).lexically_normal().parent_path();
  const bool there = fs::exists(folder, ignored);
  if (!fs::is_directory(there ? folder : folder.parent_path(), ignored)) {
    const fs::path none = there ? folder : folder.parent_path();
    throw InvalidArgument(argument, path.string(),
                          "a file in a folder that is there, or whose last part is to be made; " +
                              none.string() + " is no folder");
  }
  if (is_foreign(path)) {
    throw InvalidArgument(argument, path.string() + ", which is no store",
                          "a store, or a path where no file is");
  }
}

}  // namespace gemwright::store
