// Reading a model's config.json: fields that are missing or absurd are refused by name.
#pragma once

#include <gemwright/types.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace gemwright::lists {

class Fields {
 public:
  /// `json` must outlive this and be an object; `prefix` ("text_config.") is put before names.
  explicit Fields(const nlohmann::json& json, std::string prefix = {});

  /// A whole number from 1 to 16777216. Throws InvalidArgument.
  std::int64_t size(const char* name) const;
  std::int64_t size_or(const char* name, std::int64_t otherwise) const;
  /// As size_or; 0 is allowed.
  std::int64_t count_or(const char* name, std::int64_t otherwise) const;
  bool flag_or(const char* name, bool otherwise) const;
  /// torch_dtype or dtype when it is one that problems have, else bf16.
  DataType type() const;
  /// Missing and null are the same: published configs use both.
  bool has(const char* name) const;
  /// Entries of an array; 0 when it is missing.
  std::int64_t length(const char* name) const;
  /// An array of whole numbers from 0 on, each once; empty when it is missing.
  std::set<std::int64_t> numbers(const char* name) const;
  /// An object inside.
  Fields inside(const char* name) const;

  [[noreturn]] void refuse(const char* name, const std::string& allowed) const;

 private:
  std::int64_t whole(const char* name, std::int64_t least) const;

  const nlohmann::json& json_;
  std::string prefix_;
};

}  // namespace gemwright::lists
