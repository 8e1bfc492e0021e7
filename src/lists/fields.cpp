#include "lists/fields.hpp"

#include <gemwright/errors.hpp>

namespace gemwright::lists {
namespace {

constexpr std::int64_t kLargest = 1 << 24;

}  // namespace

Fields::Fields(const nlohmann::json& json, std::string prefix)
    : json_(json), prefix_(std::move(prefix)) {
  if (!json.is_object()) {
    const std::string name = prefix_.empty() ? "config" : prefix_.substr(0, prefix_.size() - 1);
    throw InvalidArgument(name, json.type_name(), "a JSON object");
  }
}

bool Fields::has(const char* name) const {
  const auto found = json_.find(name);
  return found != json_.end() && !found->is_null();
}

void Fields::refuse(const char* name, const std::string& allowed) const {
  constexpr std::size_t kLongest = 60;
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::string given = has(name) ? json_[name].dump(-1, ' ', false, kReplace) : "nothing";
  if (given.size() > kLongest) given = given.substr(0, kLongest) + "...";
  throw InvalidArgument(prefix_ + name, given, allowed);
}

std::int64_t Fields::whole(const char* name, std::int64_t least) const {
  const auto found = json_.find(name);
  const bool whole = found != json_.end() && found->is_number_integer();
  // Unsigned numbers beyond int64 come out negative here, and are refused as well.
  const std::int64_t value = whole ? found->get<std::int64_t>() : -1;
  if (value < least || value > kLargest) {
    refuse(name,
           "a whole number from " + std::to_string(least) + " to " + std::to_string(kLargest));
  }
  return value;
}

std::int64_t Fields::size(const char* name) const {
  return whole(name, 1);
}

std::int64_t Fields::size_or(const char* name, std::int64_t otherwise) const {
  return has(name) ? size(name) : otherwise;
}

std::int64_t Fields::count_or(const char* name, std::int64_t otherwise) const {
  return has(name) ? whole(name, 0) : otherwise;
}

bool Fields::flag_or(const char* name, bool otherwise) const {
  if (!has(name)) return otherwise;
  if (!json_[name].is_boolean()) refuse(name, "true or false");
  return json_[name].get<bool>();
}

DataType Fields::type() const {
  for (const char* name : {"torch_dtype", "dtype"}) {
    if (!has(name)) continue;
    if (!json_[name].is_string()) refuse(name, "a string");
    try {
      return parse_data_type(json_[name].get<std::string>());
    } catch (const InvalidArgument&) {
      refuse(name, "float32, float16 or bfloat16");
    }
  }
  return DataType::bf16;
}

std::int64_t Fields::length(const char* name) const {
  if (!has(name)) return 0;
  if (!json_[name].is_array()) refuse(name, "an array");
  return static_cast<std::int64_t>(json_[name].size());
}

std::set<std::int64_t> Fields::numbers(const char* name) const {
  std::set<std::int64_t> numbers;
  if (length(name) == 0) return numbers;
  for (const auto& item : json_[name]) {
    const std::int64_t value = item.is_number_integer() ? item.get<std::int64_t>() : -1;
    if (value < 0) refuse(name, "an array of whole numbers from 0 on");
    numbers.insert(value);
  }
  return numbers;
}

Fields Fields::inside(const char* name) const {
  if (!has(name)) refuse(name, "a JSON object");
  return Fields(json_[name], prefix_ + name + ".");
}

}  // namespace gemwright::lists
