// The store's database: where tuned results are looked up and kept.
#pragma once

#include "store/record.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gemwright::store {

/// Safe from many threads and processes, and across fork (files are closed before it and opened
/// again by whoever goes on). A
/// failing disk or a busy database is logged and reads as a miss; nothing here throws for it.
class Database {
 public:
  virtual ~Database() = default;
  virtual std::optional<Record> find(const std::string& problem, const std::string& device) = 0;
  /// Keeps the record unless there is one already, and returns the one that is kept: two processes
  /// that tune the same problem at once agree on the answer. `replace` overrides. What cannot be
  /// written is remembered by this object all the same, and written with the next that can.
  virtual Record keep(const Record& record, bool replace) = 0;
  /// Keeps the record if there is none or if it supersedes() the one there; true when it was kept.
  virtual bool merge(const Record& record) = 0;
  virtual std::vector<Record> list() = 0;
  /// How many were removed; failures of that problem and device are forgotten with them. An empty
  /// device or problem matches all.
  virtual int remove(const std::string& problem, const std::string& device) = 0;
  virtual void remember_failure(const Failure& failure) = 0;
  /// How many were forgotten; matches as remove() does.
  virtual int forget_failures(const std::string& problem, const std::string& device) = 0;
  /// Failures of a family version on a device; a fault or hang counts for every problem. An empty
  /// device matches all.
  virtual std::vector<Failure> failures(const std::string& device) = 0;
  /// Where it is, for messages: a path, or "memory".
  virtual std::string location() const = 0;
  /// Why the file could not be read or written the last time, or a record not be written yet; empty
  /// when all is well.
  virtual std::string trouble() = 0;
};

/// The later of two records of one problem wins; of the same date, the one with more candidates
/// measured.
bool supersedes(const Record& record, const Record& other);

/// Where Store::user() is.
std::filesystem::path user_path();

/// A file of the user's, made when missing, with folder and file private to the user.
std::unique_ptr<Database> open_file(const std::filesystem::path& path);
/// A file that nobody writes; read only, without locks.
std::unique_ptr<Database> open_shipped(const std::filesystem::path& path);
std::unique_ptr<Database> open_memory();
/// `first` is read and written; `second` is read when `first` has no answer.
std::unique_ptr<Database> layered(std::unique_ptr<Database> first,
                                  std::unique_ptr<Database> second);

}  // namespace gemwright::store
