// The bytes of one cache entry: a line of JSON about it, the cubin, and a checksum of both.
#pragma once

#include "compile/cache.hpp"

#include <string>
#include <string_view>

namespace gemwright::compile {

/// What an entry's bytes say.
struct ParsedEntry {
  std::string key;
  CacheEntry about;
  Compiled compiled;  // its report's compile_ms is 0: it cost nothing this time
};

std::string serialize(const std::string& key, const std::string& compiler, const Source& source,
                      const Compiled& compiled);

/// Throws Error saying what is wrong with the bytes.
ParsedEntry parse_entry(std::string_view bytes);

}  // namespace gemwright::compile
