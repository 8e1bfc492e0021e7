#include "log/log.hpp"
#include "store/database.hpp"
#include "store/fork_guard.hpp"
#include "store/record_json.hpp"
#include "store/row.hpp"
#include "store/session.hpp"

#include <chrono>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace gemwright::store {
namespace {

using Clock = std::chrono::steady_clock;

// How old an answer from memory may be before the file is asked whether another process wrote.
constexpr auto kRecheck = std::chrono::milliseconds(100);

class FileDatabase final : public Database, public ForkGuard {
 public:
  FileDatabase(std::filesystem::path path, bool shipped)
      : path_(std::move(path)), shipped_(shipped), unsaved_(open_memory()) {}
  ~FileDatabase() override { leave_fork_guard(); }

  std::optional<Record> find(const std::string& problem, const std::string& device) override {
    const std::lock_guard lock(mutex_);
    refresh();
    const std::string key = problem + '\n' + device;
    if (const auto known = cache_.find(key); known != cache_.end()) return known->second;
    auto record = attempt("lookup", std::optional<Record>(),
                          [&](Session& session) { return select(session, problem, device); });
    if (!record) record = unsaved_->find(problem, device);
    cache_.emplace(key, record);
    return record;
  }

  Record keep(const Record& record, bool replace) override {
    return write(record, [replace](const Record&, const Record&) { return replace; }).first;
  }

  bool merge(const Record& record) override { return write(record, supersedes).second; }

  std::vector<Record> list() override {
    const std::lock_guard lock(mutex_);
    auto records = attempt("listing", std::vector<Record>(), [](Session& session) {
      std::vector<Record> found;
      const Use row(session.list);
      while (row->step()) {
        if (auto record = read(session.list)) found.push_back(std::move(*record));
      }
      return found;
    });
    for (auto& record : unsaved_->list()) records.push_back(std::move(record));
    return records;
  }

  int remove(const std::string& problem, const std::string& device) override {
    const std::lock_guard lock(mutex_);
    cache_.clear();
    const int unsaved = unsaved_->remove(problem, device);
    return unsaved + attempt("removal", 0, [&](Session& session) {
             Transaction transaction(session.connection);
             const int removed = remove_rows(session, "records", problem, device);
             remove_rows(session, "failures", problem, device);
             transaction.commit();
             return removed;
           });
  }

  void remember_failure(const Failure& failure) override {
    const std::lock_guard lock(mutex_);
    const bool written = attempt("write", false, [&](Session& session) {
      insert(session, failure);
      return true;
    });
    if (!written) unsaved_->remember_failure(failure);
    unwritten_ = unwritten_ || !written;
  }

  int forget_failures(const std::string& problem, const std::string& device) override {
    const std::lock_guard lock(mutex_);
    const int unsaved = unsaved_->forget_failures(problem, device);
    return unsaved + attempt("removal", 0, [&](Session& session) {
             return remove_rows(session, "failures", problem, device);
           });
  }

  std::vector<Failure> failures(const std::string& device) override {
    const std::lock_guard lock(mutex_);
    auto failures = attempt("lookup", std::vector<Failure>(), [&](Session& session) {
      std::vector<Failure> found;
      const Use row(session.find_failures);
      row->bind(1, device);
      while (row->step()) {
        try {
          found.push_back(failure_from_json(Json::parse(row->text(0)), "failure"));
        } catch (const std::exception& error) {
          log::warn("store: a damaged row is passed over: {}", error.what());
        }
      }
      return found;
    });
    for (auto& failure : unsaved_->failures(device)) failures.push_back(std::move(failure));
    return failures;
  }

  std::string location() const override { return path_.string(); }

  std::string trouble() override {
    const std::lock_guard lock(mutex_);
    return unwritten_ || failed_ ? "store " + path_.string() + ": " + reason_ : std::string();
  }

 private:
  void before_fork() override {
    mutex_.lock();
    session_.reset();
  }
  void after_fork() override { mutex_.unlock(); }

  static std::optional<Record> select(Session& session, const std::string& problem,
                                      const std::string& device) {
    const Use row(session.find);
    row->bind(1, problem).bind(2, device);
    return row->step() ? read(session.find) : std::nullopt;
  }

  static int remove_rows(Session& session, const std::string& table, const std::string& problem,
                         const std::string& device) {
    const std::string sql = "DELETE FROM " + table +
                            " WHERE (?1 = '' OR problem = ?1) AND (?2 = '' OR device = ?2) "
                            "RETURNING 1";
    Statement statement(session.connection, sql.c_str());
    statement.bind(1, problem).bind(2, device);
    int removed = 0;
    while (statement.step()) ++removed;
    return removed;
  }

  // The record that is kept in the end, and whether it is the new one.
  template <typename Wins>
  std::pair<Record, bool> write(const Record& record, Wins wins) {
    const std::lock_guard lock(mutex_);
    leave_moved_file();
    const auto kept =
        attempt("write", std::optional<std::pair<Record, bool>>(), [&](Session& session) {
          Transaction transaction(session.connection);
          const auto there = select(session, record.problem, record.device);
          if (there && !wins(record, *there)) return std::optional(std::pair(*there, false));
          insert(session, record);
          transaction.commit();
          return std::optional(std::pair(record, true));
        });
    cache_.erase(record.problem + '\n' + record.device);
    unwritten_ = !kept || (unwritten_ && !write_unsaved());
    if (kept) return *kept;
    const auto there = unsaved_->find(record.problem, record.device);
    const bool won = !there || wins(record, *there);
    return {unsaved_->keep(record, won), won};
  }

  static void insert(Session& session, const Record& record) {
    Statement statement(session.connection,
                        "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    bind(statement, record);
    statement.step();
  }

  static void insert(Session& session, const Failure& failure) {
    const std::string json = dump(to_json(failure));
    Statement statement(session.connection,
                        "INSERT OR REPLACE INTO failures VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
    statement.bind(1, failure.device).bind(2, failure.family);
    statement.bind(3, std::int64_t{failure.family_version});
    statement.bind(4, failure.configuration_name).bind(5, failure.problem).bind(6, json);
    statement.step();
  }

  // Writes what could not be written before; false when it still cannot.
  bool write_unsaved() {
    const bool written = attempt("write", false, [&](Session& session) {
      Transaction transaction(session.connection);
      for (const Record& record : unsaved_->list()) {
        const auto there = select(session, record.problem, record.device);
        if (!there || supersedes(record, *there)) insert(session, record);
      }
      for (const Failure& failure : unsaved_->failures("")) insert(session, failure);
      transaction.commit();
      return true;
    });
    if (written) {
      unsaved_ = open_memory();
      cache_.clear();
    }
    return written;
  }

  // Drops what memory holds when the file has changed or is another one by now.
  void refresh() {
    const auto now = Clock::now();
    if (shipped_ || now - checked_ < kRecheck) return;
    checked_ = now;
    leave_moved_file();
    const auto version = attempt("lookup", std::int64_t{-1}, [](Session& session) {
      const Use row(session.data_version);
      row->step();
      return row->integer(0);
    });
    if (version != version_ || !session_) cache_.clear();
    version_ = version;
  }

  void leave_moved_file() {
    if (!session_ || identity(path_) == session_->file) return;
    log::info("store {}: the file was moved or deleted; opening it anew", path_.string());
    session_.reset();
  }

  // Runs the operation on the open file. A file found damaged is replaced, and the operation run
  // once more; anything else that fails is logged and gives the fallback.
  template <typename Result, typename Operation>
  Result attempt(const char* what, const Result& fallback, Operation operation) {
    for (int round = 0; round < 2; ++round) {
      try {
        if (!session_) open();
        Result result = operation(*session_);
        failed_ = false;
        return result;
      } catch (const SqliteError& error) {
        report(what, error);
        if (shipped_ || !error.damaged() || !replace_damaged()) break;
      }
    }
    failed_ = true;
    return fallback;
  }

  void open() {
    session_ = shipped_ ? open_immutable(path_) : open_session(path_);
    cache_.clear();
    reported_.clear();
  }

  bool replace_damaged() {
    session_.reset();
    cache_.clear();
    try {
      session_ = reopen_damaged(path_);
      return true;
    } catch (const SqliteError& error) {
      report("repair", error);
      return false;
    }
  }

  // A store that stays unusable says so once, not at every lookup. A shipped one is there to
  // answer, and nothing else tells that it does not.
  void report(const char* what, const SqliteError& error) {
    reason_ = error.what();
    if (reported_ == error.what()) return;
    reported_ = error.what();
    if (shipped_) {
      log::notice(fmt::format("shipped store {} is not used: {}", path_.string(), error.what()));
    } else {
      log::warn("store {}: {} failed: {}", path_.string(), what, error.what());
    }
  }

  const std::filesystem::path path_;
  const bool shipped_;
  std::mutex mutex_;
  std::unique_ptr<Session> session_;
  std::unordered_map<std::string, std::optional<Record>> cache_;
  Clock::time_point checked_{};
  std::int64_t version_ = -1;
  std::string reported_;
  std::string reason_;      // of the last operation that failed
  bool failed_ = false;     // the last operation
  bool unwritten_ = false;  // something in unsaved_
  // What could not be written yet: it is with the next record that can.
  std::unique_ptr<Database> unsaved_;
};

}  // namespace

std::unique_ptr<Database> open_file(const std::filesystem::path& path) {
  return std::make_unique<FileDatabase>(path, false);
}

std::unique_ptr<Database> open_shipped(const std::filesystem::path& path) {
  return std::make_unique<FileDatabase>(path, true);
}

}  // namespace gemwright::store
