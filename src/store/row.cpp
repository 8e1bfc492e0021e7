#include "store/row.hpp"

#include "log/log.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

namespace gemwright::store {
namespace {

// Calls visit(field) in the order of the columns, the checksum left out.
template <typename AnyRecord, typename Visit>
void each_field(AnyRecord& record, Visit visit) {
  visit(record.problem);
  visit(record.device);
  visit(record.chosen.family);
  visit(record.chosen.family_version);
  visit(record.chosen.configuration_name);
  visit(record.chosen.configuration_json);
  visit(record.chosen.predicted_us);
  visit(record.chosen.best_us);
  visit(record.chosen.median_us);
  visit(record.chosen.vendor);
  visit(record.chosen.failure);
  visit(record.floor_us);
  visit(record.vendor_first_us);
  visit(record.vendor_best_us);
  visit(record.margin);
  visit(record.noise);
  visit(record.note);
  visit(record.time_limit_s);
  visit(record.policy);
  visit(record.version);
  visit(record.driver);
  visit(record.date);
  visit(record.candidates_json);
}

class Checksum {
 public:
  Checksum() { XXH3_64bits_reset(&state_); }

  void operator()(std::string_view text) {
    (*this)(static_cast<std::int64_t>(text.size()));
    XXH3_64bits_update(&state_, text.data(), text.size());
  }
  void operator()(std::int64_t value) { XXH3_64bits_update(&state_, &value, sizeof value); }
  void operator()(int value) { (*this)(std::int64_t{value}); }
  // As SQLite gives them back: no NaN, no negative zero.
  void operator()(double value) {
    const double kept = std::isnan(value) ? 0.0 : value + 0.0;
    XXH3_64bits_update(&state_, &kept, sizeof kept);
  }
  std::int64_t value() const { return static_cast<std::int64_t>(XXH3_64bits_digest(&state_)); }

 private:
  XXH3_state_t state_;
};

std::int64_t checksum(const Record& record) {
  Checksum sum;
  each_field(record, [&](const auto& field) { sum(field); });
  return sum.value();
}

class Binder {
 public:
  explicit Binder(Statement& statement) : statement_(statement) {}
  void operator()(const std::string& text) { statement_.bind(++index_, text); }
  void operator()(std::int64_t value) { statement_.bind(++index_, value); }
  void operator()(int value) { (*this)(std::int64_t{value}); }
  void operator()(double value) { statement_.bind(++index_, value); }

 private:
  Statement& statement_;
  int index_ = 0;
};

class Taker {
 public:
  explicit Taker(const Statement& row) : row_(row) {}
  void operator()(std::string& text) { text = row_.text(column_++); }
  void operator()(std::int64_t& value) { value = row_.integer(column_++); }
  void operator()(int& value) { value = static_cast<int>(row_.integer(column_++)); }
  void operator()(bool& value) { value = row_.integer(column_++) != 0; }
  void operator()(double& value) { value = row_.real(column_++); }

 private:
  const Statement& row_;
  int column_ = 0;
};

}  // namespace

void bind(Statement& statement, const Record& record) {
  Binder binder(statement);
  each_field(record, [&](const auto& field) { binder(field); });
  binder(checksum(record));
}

std::optional<Record> read(const Statement& row) {
  Record record;
  std::int64_t kept = 0;
  Taker taker(row);
  each_field(record, [&](auto& field) { taker(field); });
  taker(kept);
  if (checksum(record) == kept) return record;
  log::warn("store: a damaged row is passed over: wrong checksum");
  return std::nullopt;
}

}  // namespace gemwright::store
