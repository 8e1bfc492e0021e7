// The store's database: where tuned results are looked up and kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/record.hpp"

namespace gemwright::store {

/// Safe from many threads and processes. A failing disk or a busy database is logged and reads as a
/// miss; nothing here throws for it.
class Database {
 public:
  virtual ~Database() = default;
  virtual std::optional<Record> find(const std::string& problem, const std::string& device) = 0;
  /// Keeps the record unless there is one already, and returns the one that is kept: two processes
  /// that tune the same problem at once agree on the answer. `replace` overrides.
  virtual Record keep(const Record& record, bool replace) = 0;
  virtual std::vector<Record> list() = 0;
  /// How many were removed. An empty device or problem matches all.
  virtual int remove(const std::string& problem, const std::string& device) = 0;
  virtual void remember_failure(const Failure& failure) = 0;
  /// Failures of a family version on a device; a fault or hang counts for every problem.
  virtual std::vector<Failure> failures(const std::string& device) = 0;
};

}  // namespace gemwright::store
