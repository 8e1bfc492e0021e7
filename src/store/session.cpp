#include "store/session.hpp"

#include "files/file_lock.hpp"
#include "files/files.hpp"
#include "log/log.hpp"
#include "store/place.hpp"
#include "store/row.hpp"

#include <chrono>
#include <ctime>
#include <optional>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gemwright::store {
namespace {

namespace fs = std::filesystem;

// In the file's user_version. 0 is a file that SQLite just made.
constexpr std::int64_t kSchema = 3;

constexpr char kCreate[] = R"sql(
CREATE TABLE records (
  problem TEXT NOT NULL,
  device TEXT NOT NULL,
  family TEXT NOT NULL,       -- of the winner, as all up to failure
  family_version INTEGER NOT NULL,
  configuration TEXT NOT NULL,
  parameters TEXT NOT NULL,   -- JSON object
  predicted_us REAL,
  best_us REAL,
  median_us REAL,
  vendor INTEGER NOT NULL,
  failure TEXT NOT NULL,
  floor_us REAL,
  vendor_first_us REAL,
  vendor_best_us REAL,
  margin REAL,
  noise REAL,
  note TEXT NOT NULL,
  time_limit_s REAL,
  policy TEXT NOT NULL,
  version TEXT NOT NULL,
  driver TEXT NOT NULL,
  date TEXT NOT NULL,
  candidates TEXT NOT NULL,   -- JSON array: the evidence
  checksum INTEGER NOT NULL,  -- of all the columns before
  PRIMARY KEY (problem, device));
CREATE TABLE failures (
  device TEXT NOT NULL,
  family TEXT NOT NULL,
  family_version INTEGER NOT NULL,
  configuration TEXT NOT NULL,
  problem TEXT NOT NULL,
  failure TEXT NOT NULL,      -- JSON: everything
  PRIMARY KEY (device, family, family_version, configuration, problem));
PRAGMA user_version = 3;
)sql";

using files::FileLock;

// Held shared while a file is being opened and alone while it is made or moved: nobody may join an
// old file to a new write-ahead log. Where the lock cannot be had nothing can be moved either.
// Opening takes milliseconds: who holds it for seconds hangs, and the store is then a miss.
constexpr double kPatience = 2;

class OpenLock {
 public:
  OpenLock(const fs::path& path, FileLock::Kind kind)
      : lock_(path.string() + ".lock", kind, kPatience) {
    if (lock_.possible() && !lock_.held()) {
      throw SqliteError(SQLITE_BUSY, fmt::format("another process has held {}.lock for {:g} s",
                                                 path.string(), kPatience));
    }
  }

 private:
  FileLock lock_;
};

// With its parents where it is the user's cache; of another path no more than its last part, since
// that the others are missing is a slip of the pen.
void make_private_folder(const fs::path& folder, bool parents) {
  std::error_code ignored;
  if (folder.empty() || fs::exists(folder, ignored)) return;
  if (parents) make_private_folder(folder.parent_path(), true);
  // Another process may be first; opening the file tells whether there is a folder.
  static_cast<void>(::mkdir(folder.c_str(), 0700));
}

// SQLite gives its side files the mode of the main file.
void make_private_file(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
}

void move_aside(const fs::path& path, const std::string& reason) {
  const auto stamp = fmt::format(".bad-{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(std::time(nullptr)),
                                 static_cast<int>(::getpid()));
  for (const char* side : {"-wal", "-shm", ""}) {
    const std::string from = path.string() + side;
    const std::string to = path.string() + stamp + side;
    if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) {
      throw SqliteError(SQLITE_READONLY,
                        fmt::format("{} cannot be moved aside ({})", from, reason));
    }
  }
  log::notice(fmt::format("store {}: {}; moved aside to {}{}, starting a new one", path.string(),
                          reason, path.filename().string(), stamp));
}

void create(Connection& connection) {
  // The mode is kept in the file. On a file system without shared memory SQLite stays with its
  // rollback journal, which serves as well, only slower.
  connection.query_text("PRAGMA journal_mode = WAL");
  Transaction transaction(connection);
  connection.execute(kCreate);
  connection.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  transaction.commit();
}

std::unique_ptr<Session> session(Connection connection, const fs::path& path) {
  return std::make_unique<Session>(std::move(connection), identity(path));
}

std::optional<Connection> connect_known(const fs::path& path, Access access) {
  Connection connection(path, access);
  if (connection.query_integer("PRAGMA user_version") != kSchema) return std::nullopt;
  return connection;
}

// What is wrong with the file, or the sound one opened. Runs under the lock held alone.
std::variant<std::string, std::unique_ptr<Session>> examine(const fs::path& path) {
  try {
    Connection connection(path, Access::read_write);
    const auto version = connection.query_integer("PRAGMA user_version");
    const bool empty = connection.query_integer("SELECT count(*) FROM sqlite_schema") == 0;
    if (version == 0 && empty) {
      create(connection);
    } else if (version != kSchema) {
      return fmt::format("schema {}, where this program writes {}", version, kSchema);
    } else if (const auto check = connection.query_text("PRAGMA quick_check(1)"); check != "ok") {
      return check;
    }
    return session(std::move(connection), path);
  } catch (const SqliteError& error) {
    if (!error.damaged()) throw;
    return std::string(error.what());
  }
}

std::unique_ptr<Session> open_read_only(const fs::path& path, const SqliteError& error) {
  for (const Access access : {Access::read_only, Access::immutable}) {
    try {
      if (auto connection = connect_known(path, access)) {
        log::info("store {}: {}; opened for reading", path.string(), error.what());
        return session(std::move(*connection), path);
      }
    } catch (const SqliteError& again) {
      log::debug("store {}: {}", path.string(), again.what());
    }
  }
  throw error;
}

std::string select_records(const char* which) {
  return fmt::format("SELECT {} FROM records {}", kRecordColumns, which);
}

}  // namespace

FileIdentity identity(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

Session::Session(Connection opened, FileIdentity opened_file)
    : connection(std::move(opened)),
      file(opened_file),
      data_version(connection, "PRAGMA data_version"),
      find(connection, select_records("WHERE problem = ?1 AND device = ?2").c_str()),
      list(connection, select_records("ORDER BY device, problem").c_str()),
      find_failures(connection, "SELECT failure FROM failures WHERE ?1 = '' OR device = ?1") {
  // Commits survive a crash of the process; a power cut may cost the last ones.
  connection.execute("PRAGMA synchronous = NORMAL");
}

std::unique_ptr<Session> open_session(const fs::path& path) {
  if (is_foreign(path)) throw SqliteError(SQLITE_CANTOPEN, "the file there is no store");
  make_private_folder(path.parent_path(), path.parent_path() == files::cache_folder());
  if (identity(path) != FileIdentity{}) {
    const OpenLock lock(path, FileLock::Kind::shared);
    try {
      if (auto connection = connect_known(path, Access::read_write)) {
        return session(std::move(*connection), path);
      }
    } catch (const SqliteError& error) {
      if (error.forbidden()) return open_read_only(path, error);
      if (!error.damaged()) throw;
    }
  }
  return reopen_damaged(path);
}

std::unique_ptr<Session> reopen_damaged(const fs::path& path) {
  const OpenLock lock(path, FileLock::Kind::alone);
  make_private_file(path);
  auto found = examine(path);
  if (const auto* reason = std::get_if<std::string>(&found)) {
    move_aside(path, *reason);
    make_private_file(path);
    found = examine(path);
  }
  if (const auto* reason = std::get_if<std::string>(&found)) {
    throw SqliteError(SQLITE_ERROR, *reason);
  }
  return std::move(std::get<std::unique_ptr<Session>>(found));
}

std::unique_ptr<Session> open_immutable(const fs::path& path) {
  if (identity(path) == FileIdentity{}) {
    throw SqliteError(SQLITE_CANTOPEN, "there is no such file");
  }
  auto connection = connect_known(path, Access::immutable);
  if (!connection) throw SqliteError(SQLITE_ERROR, "not a store of this program's schema");
  return session(std::move(*connection), path);
}

}  // namespace gemwright::store
