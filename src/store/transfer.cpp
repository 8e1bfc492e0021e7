#include "store/transfer.hpp"

#include "files/parse_json.hpp"
#include "store/record_json.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/problem.hpp>

namespace gemwright::store {
namespace {

constexpr int kFormat = 1;
constexpr char kMark[] = "gemwright_store";

void check_mark(const Json& json) {
  const auto mark = json.find(kMark);
  if (mark == json.end()) throw InvalidArgument(kMark, "nothing", std::to_string(kFormat));
  if (*mark != kFormat) {
    throw InvalidArgument(kMark, mark->is_number() ? dump(*mark) : mark->type_name(),
                          std::to_string(kFormat));
  }
}

const Json& array(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array()) {
    throw InvalidArgument(name, found == json.end() ? "nothing" : found->type_name(), "an array");
  }
  return *found;
}

template <typename T>
std::vector<T> read_all(const Json& json, const char* name,
                        T (*read)(const Json&, const std::string&)) {
  std::vector<T> all;
  for (const auto& item : array(json, name)) {
    all.push_back(read(item, std::string(name) + "[" + std::to_string(all.size()) + "]"));
  }
  return all;
}

// A key that no problem has would lie in the store for ever, never found.
void check_keys(const std::vector<Record>& records) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    try {
      static_cast<void>(parse_problem(records[i].problem));
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("records[" + std::to_string(i) + "].problem", error.what(),
                            "a problem key");
    }
  }
}

}  // namespace

std::string export_json(Database& database, const std::string& device) {
  Json json;
  json[kMark] = kFormat;
  json["records"] = Json::array();
  for (const auto& record : database.list()) {
    if (device.empty() || record.device == device) json["records"].push_back(to_json(record));
  }
  json["failures"] = Json::array();
  for (const auto& failure : database.failures(device)) {
    json["failures"].push_back(to_json(failure));
  }
  return dump(json, 1) + "\n";
}

Imported import_json(Database& database, std::string_view text) {
  const auto json =
      files::parse_json<Json>(text, "store export", "JSON written by 'gemwright store export'");
  check_mark(json);
  const auto records = read_all<Record>(json, "records", record_from_json);
  const auto failures = read_all<Failure>(json, "failures", failure_from_json);
  check_keys(records);
  Imported imported{static_cast<int>(records.size()), 0, static_cast<int>(failures.size())};
  for (const auto& record : records) imported.kept += database.merge(record) ? 1 : 0;
  for (const auto& failure : failures) database.remember_failure(failure);
  return imported;
}

}  // namespace gemwright::store
