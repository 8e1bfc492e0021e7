// Records as rows of the table `records`: a column for each field, so that a lookup parses nothing.
#pragma once

#include "store/record.hpp"
#include "store/sqlite.hpp"

#include <optional>

namespace gemwright::store {

/// The columns that bind() fills and read() takes, in their order.
inline constexpr char kRecordColumns[] =
    "problem, device, family, family_version, configuration, parameters, predicted_us, best_us, "
    "median_us, vendor, failure, floor_us, vendor_first_us, vendor_best_us, margin, noise, note, "
    "time_limit_s, policy, version, driver, date, candidates, checksum";

/// Fills parameters 1, 2, ... The record must live until the statement's next reset.
void bind(Statement& statement, const Record& record);

/// The row that the statement stands on; nothing (logged) when it is damaged.
std::optional<Record> read(const Statement& row);

}  // namespace gemwright::store
