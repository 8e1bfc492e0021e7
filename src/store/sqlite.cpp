#include "store/sqlite.hpp"

#include <sqlite3.h>

namespace gemwright::store {
namespace {

constexpr int kBusyTimeoutMs = 5000;

[[noreturn]] void fail(sqlite3* connection, int code) {
  const char* text = connection == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(connection);
  throw SqliteError(code, text);
}

// A file name inside a URI: what has a meaning there is escaped.
std::string escaped(const std::string& path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      out += '%';
      out += kHex[(static_cast<unsigned char>(c) >> 4) & 15];
      out += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

bool SqliteError::damaged() const noexcept {
  const int code = code_ & 0xff;
  // The statements are fixed, so what does not understand them has a damaged schema.
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
}

bool SqliteError::forbidden() const noexcept {
  const int code = code_ & 0xff;
  return code == SQLITE_READONLY || code == SQLITE_CANTOPEN || code == SQLITE_PERM ||
         code == SQLITE_AUTH;
}

void Connection::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Connection::Connection(const std::filesystem::path& path, Access access) {
  // The library serialises calls itself (Database holds a mutex), so SQLite's own is not needed.
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  flags |= access == Access::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                        : SQLITE_OPEN_READONLY;
  std::string uri = "file:" + escaped(std::filesystem::absolute(path).string());
  if (access == Access::immutable) uri += "?immutable=1";
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &raw, flags, nullptr);
  handle_.reset(raw);
  if (code != SQLITE_OK) fail(raw, code);
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
}

void Connection::execute(const char* sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(handle_.get(), code);
}

std::int64_t Connection::query_integer(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Connection::query_text(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? std::string(statement.text(0)) : std::string();
}

void Statement::Finalize::operator()(sqlite3_stmt* handle) const {
  sqlite3_finalize(handle);
}

Statement::Statement(const Connection& connection, const char* sql)
    : connection_(connection.handle()) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) fail(connection_, code);
  handle_.reset(raw);
}

Statement& Statement::bind(int index, std::string_view text) {
  const int code = sqlite3_bind_text(handle_.get(), index, text.data(),
                                     static_cast<int>(text.size()), SQLITE_STATIC);
  if (code != SQLITE_OK) fail(connection_, code);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  const int code = sqlite3_bind_int64(handle_.get(), index, value);
  if (code != SQLITE_OK) fail(connection_, code);
  return *this;
}

Statement& Statement::bind(int index, double value) {
  const int code = sqlite3_bind_double(handle_.get(), index, value);
  if (code != SQLITE_OK) fail(connection_, code);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  fail(connection_, code);
}

void Statement::reset() {
  if (!handle_) return;
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
}

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(handle_.get(), column);
}

Transaction::Transaction(Connection& connection) : connection_(connection) {
  connection_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  // A failed statement may have rolled back already; there is nothing to do about a second error.
  sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace gemwright::store
