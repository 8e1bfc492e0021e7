// An open store file: created, recognised, or moved aside and made anew.
#pragma once

#include "store/sqlite.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace gemwright::store {

/// In the file's application_id: "GEMW".
inline constexpr std::uint32_t kApplicationId = 0x47454D57;

/// Which file a path leads to, to notice when it was deleted or moved.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Zero when there is no such file.
FileIdentity identity(const std::filesystem::path& path);

/// A connection to a store of this program's schema, with its statements prepared.
struct Session {
  Session(Connection opened, FileIdentity file);

  Connection connection;
  FileIdentity file;
  Statement data_version;   // changes when another connection commits
  Statement find;           // problem, device -> kRecordColumns
  Statement list;           // -> kRecordColumns
  Statement find_failures;  // device or '' -> failure
};

/// Opens the file, making it and its folder (private to the user) when missing. A damaged file, or
/// one of another schema, is moved aside with its side files, the date in their names, and replaced
/// by an empty one; processes that meet it at the same time do so once. Where nothing can be
/// written the file is opened for reading. Throws SqliteError, also for a file that is_foreign().
std::unique_ptr<Session> open_session(const std::filesystem::path& path);

/// As open_session, after damage was met in a file that seemed sound: all of it is checked.
std::unique_ptr<Session> reopen_damaged(const std::filesystem::path& path);

/// Opens a file that nobody writes. Throws SqliteError.
std::unique_ptr<Session> open_immutable(const std::filesystem::path& path);

}  // namespace gemwright::store
