// Stores as text: to carry tuned results to other machines, and to ship them.
#pragma once

#include "store/database.hpp"

#include <string>
#include <string_view>

namespace gemwright::store {

/// {"gemwright_store": 1, "records": [...], "failures": [...]}, indented, in a stable order. An
/// empty device matches all.
std::string export_json(Database& database, const std::string& device = {});

struct Imported {
  int records = 0;   // in the text
  int kept = 0;      // new, or better than what was there
  int failures = 0;  // in the text
};

/// Merges an export; of two records of one problem the one that supersedes() the other stays. All
/// of it is checked before anything is kept: throws InvalidArgument that names the place.
Imported import_json(Database& database, std::string_view text);

}  // namespace gemwright::store
