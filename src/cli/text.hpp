// Numbers and tables as people read them.
#pragma once

#include "lists/entry.hpp"

#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace gemwright::cli {

/// "45.6 ns", "12.3 us", "4.56 ms", "7.89 s"; "-" for 0.
std::string time_text(double us);
/// "87 %"; "-" when either is 0.
std::string percent_text(double part, double whole);
/// "1.23"; "-" when either is 0.
std::string ratio_text(double numerator, double denominator);
/// "12.3 MiB".
std::string bytes_text(double bytes);
/// "1 thread", "2 threads".
std::string count_text(std::size_t count, const std::string& thing);
/// A rate in the prefix that leaves one to three digits before the point: "1.23 GFLOP/s"; "-" for
/// 0.
std::string rate_text(double per_second, const char* unit);

/// What is said instead of a kernel where has_empty_result().
inline constexpr const char* kEmptyResult = "an empty result needs no kernel";

/// A line for each kind of thing that a list's source holds and no problem was made of.
void print_left_out(std::ostream& out, const std::vector<lists::LeftOut>& left_out);

/// Rows of cells in aligned columns under a heading. Columns of numbers, with or without a unit,
/// align right; a column without any text is left out.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : heading_(std::move(heading)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::ostream& out) const;

 private:
  std::vector<std::string> heading_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gemwright::cli
