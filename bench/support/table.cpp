#include "support/report.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace gemwright::bench {
namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.-+%x") == std::string::npos;
}

}  // namespace

void print_table(const std::vector<std::string>& heading,
                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  width.reserve(heading.size());
  std::vector<bool> right(heading.size(), !rows.empty());
  for (const std::string& title : heading) width.push_back(title.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], row[i].size());
      right[i] = right[i] && is_number(row[i]);
    }
  }
  const auto print_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += right[i] ? fmt::format("{:>{}}  ", cells[i], width[i])
                       : fmt::format("{:<{}}  ", cells[i], width[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  };
  print_line(heading);
  for (const auto& row : rows) print_line(row);
  std::fflush(stdout);
}

}  // namespace gemwright::bench
