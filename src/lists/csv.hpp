// Comma-separated values, with quotes as RFC 4180 has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gemwright::lists {

/// One record, and the line that it begins in, from 1.
struct CsvRecord {
  int line = 0;
  std::vector<std::string> cells;
};

/// The records of a text. A cell in quotes may hold commas, line breaks and, doubled, quotes; space
/// around cells and quotes is dropped. Empty lines, and those that begin with #, are passed over.
/// Throws InvalidArgument of "line N" for a quote without an end, or text behind one.
std::vector<CsvRecord> read_csv(std::string_view text);

}  // namespace gemwright::lists
