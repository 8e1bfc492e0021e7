#include "cli/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace gemwright::cli {
namespace {

// Columns on a terminal: bytes that begin a UTF-8 character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// "12.3 us", "-" and nothing at all, but no date and no name.
bool is_number(const std::string& cell) {
  if (cell.empty() || cell == "-") return true;
  const std::string number = cell.substr(0, cell.find(' '));
  return number.find_first_not_of("0123456789.+-%x") == std::string::npos;
}

}  // namespace

std::string time_text(double us) {
  if (us <= 0) return "-";
  if (us < 0.1) return fmt::format("{:.3g} ns", us * 1e3);
  if (us < 1e3) return fmt::format("{:.1f} us", us);
  if (us < 1e6) return fmt::format("{:.2f} ms", us * 1e-3);
  return fmt::format("{:.2f} s", us * 1e-6);
}

std::string percent_text(double part, double whole) {
  if (part <= 0 || whole <= 0) return "-";
  return fmt::format("{:.0f} %", 100 * part / whole);
}

std::string ratio_text(double numerator, double denominator) {
  if (numerator <= 0 || denominator <= 0) return "-";
  return fmt::format("{:.2f}", numerator / denominator);
}

std::string bytes_text(double bytes) {
  if (bytes < 1 << 10) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", bytes / (1 << 10));
  if (bytes < 1 << 30) return fmt::format("{:.1f} MiB", bytes / (1 << 20));
  return fmt::format("{:.1f} GiB", bytes / (1 << 30));
}

std::string count_text(std::size_t count, const std::string& thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string rate_text(double per_second, const char* unit) {
  if (per_second <= 0) return "-";
  constexpr std::array<const char*, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (per_second >= 1000 && prefix + 1 < kPrefixes.size()) {
    per_second /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", per_second, kPrefixes[prefix], unit);
}

void print_left_out(std::ostream& out, const std::vector<lists::LeftOut>& left_out) {
  for (const auto& tensor : left_out) {
    out << fmt::format("gemwright: left out: {} x {}: {}\n", tensor.count, tensor.role,
                       tensor.reason);
  }
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths(heading_.size(), 0);
  std::vector<bool> right(heading_.size(), true);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i]));
      right[i] = right[i] && is_number(row[i]);
    }
  }
  const auto print_row = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::size_t column = std::max(widths[i], width(heading_[i]));
      const std::string space(column - width(row[i]), ' ');
      line += (line.empty() ? "" : "  ") + (right[i] ? space + row[i] : row[i] + space);
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  };
  print_row(heading_);
  for (const auto& row : rows_) print_row(row);
}

}  // namespace gemwright::cli
