// What is fuzzed: every parser of text or bytes that come from outside. Only gemwright::Error may
// come out of one, and what is taken must make sense.
#pragma once

#include "lists/model_config.hpp"
#include "lists/safetensors.hpp"
#include "lists/table.hpp"
#include "store/transfer.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/problem.hpp>

#include <cstdlib>
#include <string_view>

namespace gemwright::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

// A problem that came from outside survives the way through its key.
inline void require_round_trip(const Problem& problem) {
  require(key(parse_problem(key(problem))) == key(problem));
}

inline void require_sound(const std::vector<lists::Entry>& entries) {
  for (const auto& entry : entries) {
    entry.problem.check();
    require_round_trip(entry.problem);
  }
}

inline void model_config(std::string_view text) {
  lists::Options options;
  options.unfused = true;
  try {
    require_sound(lists::from_model_config(text, "fuzz", options));
  } catch (const Error&) {
  }
}

inline void safetensors(std::string_view text) {
  try {
    const files::Header header = files::parse_header(text, "fuzz");
    require_sound(lists::from_tensors(header.tensors, "fuzz", {}).entries);
    constexpr std::uint64_t kData = 20000;
    files::check_data(header, kData, "fuzz");
    for (const files::Tensor& tensor : header.tensors) {
      require(tensor.begin <= tensor.end && tensor.end <= kData);
    }
  } catch (const Error&) {
  }
}

inline void problem_key(std::string_view text) {
  try {
    const Problem problem = parse_problem(text);
    require_round_trip(problem);
    problem.check();
    require_round_trip(canonical(problem).problem);
  } catch (const Error&) {
  }
}

inline void table(std::string_view text) {
  try {
    require_sound(lists::from_table(text, {}));
  } catch (const Error&) {
  }
}

inline void store_export(std::string_view text) {
  const auto database = store::open_memory();
  try {
    store::import_json(*database, text);
    const auto again = store::open_memory();
    store::import_json(*again, store::export_json(*database));
    require(store::export_json(*again) == store::export_json(*database));
  } catch (const Error&) {
  }
}

}  // namespace gemwright::fuzz
