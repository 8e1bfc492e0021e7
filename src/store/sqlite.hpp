// SQLite as C++: connections, statements and transactions that clean up after themselves.
#pragma once

#include <gemwright/errors.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace gemwright::store {

/// A failed call of SQLite. Never leaves the store: Database turns it into a logged miss.
class SqliteError : public Error {
 public:
  SqliteError(int code, const std::string& text) : Error(text), code_(code) {}
  /// The file itself is damaged or is no database, as opposed to busy, full or forbidden.
  bool damaged() const noexcept;
  /// The place cannot be written or the file not opened for writing.
  bool forbidden() const noexcept;

 private:
  int code_;
};

enum class Access : unsigned char {
  read_write,  // made when missing
  read_only,
  immutable,  // read without locks or side files: only for files that nobody writes
};

class Connection {
 public:
  /// Throws SqliteError. SQLite reads the file lazily: damage shows at the first statement.
  Connection(const std::filesystem::path& path, Access access);

  void execute(const char* sql);
  std::int64_t query_integer(const char* sql);
  std::string query_text(const char* sql);
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

class Statement {
 public:
  Statement(const Connection& connection, const char* sql);

  /// Parameters count from 1. Text must live until the next reset.
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, double value);
  /// True while there is a row.
  bool step();
  /// Back to the start, without bindings. Ends the read that the statement held open.
  void reset();

  /// Columns count from 0.
  std::string_view text(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  sqlite3* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// Resets a prepared statement at the end of a scope, whatever happens in it.
class Use {
 public:
  explicit Use(Statement& statement) : statement_(statement) {}
  ~Use() { statement_.reset(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Statement* operator->() const { return &statement_; }

 private:
  Statement& statement_;
};

/// A write transaction, begun at once so that it waits for other writers instead of failing at the
/// first write; rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace gemwright::store
