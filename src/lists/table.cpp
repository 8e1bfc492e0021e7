#include "lists/table.hpp"

#include "files/parse_json.hpp"
#include "lists/csv.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

namespace gemwright::lists {
namespace {

using nlohmann::json;
using Cells = std::map<std::string, std::string, std::less<>>;

constexpr const char* kColumns =
    "m, n, k, dtype, format, activations, batch, layout, bias, problem, model, role, count";

bool is_column(std::string_view name) {
  static const std::set<std::string, std::less<>> known = {
      "m",      "n",    "k",       "dtype", "format", "activations", "batch",
      "layout", "bias", "problem", "model", "role",   "count"};
  return known.contains(name);
}

// One line of a table: cells by column; the place is named in errors.
class Row {
 public:
  Row(Cells cells, std::string place) : cells_(std::move(cells)), place_(std::move(place)) {}

  bool has(std::string_view name) const { return cells_.contains(name); }

  std::string text(std::string_view name, const std::string& otherwise = {}) const {
    const auto found = cells_.find(name);
    return found == cells_.end() ? otherwise : found->second;
  }

  std::int64_t size(std::string_view name) const {
    const std::string given = text(name, "nothing");
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    const bool whole = error == std::errc() && end == given.data() + given.size();
    if (!whole || value < 0 || value > kLargestSize) {
      refuse(name, "a whole number from 0 to " + std::to_string(kLargestSize));
    }
    return value;
  }

  [[noreturn]] void refuse(std::string_view name, const std::string& allowed) const {
    throw InvalidArgument(place_ + ": " + std::string(name),
                          files::shortened(text(name, "nothing")), allowed);
  }

 private:
  Cells cells_;
  std::string place_;
};

DataType type_of(const Row& row, const Options& options) {
  if (!row.has("dtype")) return options.type.value_or(DataType::bf16);
  try {
    return parse_data_type(row.text("dtype"));
  } catch (const InvalidArgument&) {
    row.refuse("dtype", "f32, f16 or bf16");
  }
}

void make_low_bit(Problem& problem, const Row& row) {
  try {
    problem.weight = parse_weight_format(row.text("format"));
  } catch (const InvalidArgument& error) {
    row.refuse("format", std::string("a weight format (") + error.what() + ")");
  }
  problem.b = {.type = problem.a.type, .row_stride = 0, .col_stride = 0, .packed = true};
}

Problem problem_of(const Row& row, std::int64_t m, const Options& options) {
  const DataType type = type_of(row, options);
  const std::int64_t n = row.size("n");
  const std::int64_t k = row.size("k");
  const std::int64_t batch = row.has("batch") ? row.size("batch") : 1;
  const std::string layout = row.text("layout", "linear");
  if (layout != "linear" && layout != "mm") row.refuse("layout", "linear or mm");
  Problem problem = Problem::bmm(batch, m, n, k, type);
  if (layout == "linear") {
    problem.b.row_stride = 1;
    problem.b.col_stride = k;
  }
  if (row.has("format")) {
    if (layout != "linear") row.refuse("layout", "linear, as packed weights have it");
    if (batch > 1) row.refuse("batch", "1 with a format: products that share their weight");
    make_low_bit(problem, row);
  }
  if (row.has("activations")) {
    try {
      problem.activations = parse_activations(row.text("activations"));
    } catch (const InvalidArgument&) {
      row.refuse("activations", "as_given, e4m3 or int8");
    }
  }
  const std::string bias = row.text("bias", "none");
  if (bias != "none" && bias != "row" && bias != "column") {
    row.refuse("bias", "none, row or column");
  }
  if (bias != "none") {
    problem.bias = bias == "row" ? Bias::per_row : Bias::per_column;
    problem.bias_type = type;
  }
  return problem;
}

std::vector<Problem> problems_of(const Row& row, const Options& options) {
  if (row.has("problem")) {
    try {
      return {parse_problem(row.text("problem"))};
    } catch (const InvalidArgument& error) {
      row.refuse("problem", std::string("a problem's key (") + error.what() + ")");
    }
  }
  std::vector<Problem> problems;
  const auto rows = row.has("m") ? std::vector{row.size("m")} : options.m;
  problems.reserve(rows.size());
  for (const std::int64_t m : rows) problems.push_back(problem_of(row, m, options));
  return problems;
}

void add(std::vector<Entry>& all, const Row& row, const Options& options) {
  const std::int64_t count = row.has("count") ? row.size("count") : 0;
  for (Problem& problem : problems_of(row, options)) {
    try {
      problem.check();
    } catch (const InvalidArgument& error) {
      row.refuse("problem", std::string("sizes that make sense (") + error.what() + ")");
    }
    all.push_back({row.text("model"), row.text("role"), problem, count});
  }
}

void check_column(const std::string& name, const std::string& place) {
  if (!is_column(name)) throw InvalidArgument(place + ": column", '"' + name + '"', kColumns);
}

std::vector<std::string> columns(const std::vector<std::string>& cells, const std::string& place) {
  std::set<std::string> seen;
  for (const auto& name : cells) {
    check_column(name, place);
    if (!seen.insert(name).second) {
      throw InvalidArgument(place + ": column", '"' + name + "\" twice", "each column once");
    }
  }
  return cells;
}

// Spreadsheets mark UTF-8 by three bytes in front.
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::vector<Row> rows_of_csv(std::string_view text) {
  std::vector<Row> rows;
  std::vector<std::string> header;
  for (const auto& [line, cells] : read_csv(text)) {
    const std::string place = "line " + std::to_string(line);
    if (header.empty()) {
      header = columns(cells, place);
      continue;
    }
    if (cells.size() > header.size()) {
      throw InvalidArgument(place, std::to_string(cells.size()) + " cells",
                            "at most " + std::to_string(header.size()) + ", as in the header");
    }
    Cells named;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].empty()) named.emplace(header[i], cells[i]);
    }
    rows.emplace_back(std::move(named), place);
  }
  return rows;
}

Row row_of(const json& item, const std::string& place) {
  if (item.is_string()) return {{{"problem", item.get<std::string>()}}, place};
  if (!item.is_object()) throw InvalidArgument(place, item.type_name(), "an object or a key");
  constexpr auto kReplace = json::error_handler_t::replace;
  Cells cells;
  for (const auto& [name, value] : item.items()) {
    check_column(name, place);
    if (value.is_null()) continue;
    if (value.is_structured()) {
      throw InvalidArgument(place + ": " + name, value.type_name(), "a number or text");
    }
    cells.emplace(
        name, value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, kReplace));
  }
  return {std::move(cells), place};
}

std::vector<Row> rows_of_json(std::string_view text) {
  const auto list = files::parse_json<json>(text, "list", "JSON");
  if (!list.is_array()) throw InvalidArgument("list", list.type_name(), "a JSON array");
  std::vector<Row> rows;
  for (std::size_t i = 0; i < list.size(); ++i) {
    rows.push_back(row_of(list[i], "item " + std::to_string(i)));
  }
  return rows;
}

// An option that no row reads is refused, not passed over.
void check_read(const std::vector<Row>& rows, bool given, const std::string& column) {
  const bool read = std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return !row.has(column) && !row.has("problem");
  });
  if (!given || read || rows.empty()) return;
  throw InvalidArgument(column, "by --" + column + " and by every row", "one of them");
}

}  // namespace

std::vector<Entry> from_table(std::string_view given, const Options& options) {
  const std::string_view text = without_mark(given);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json_text =
      first != std::string_view::npos && (text[first] == '[' || text[first] == '{');
  const std::vector<Row> rows = json_text ? rows_of_json(text) : rows_of_csv(text);
  check_read(rows, options.m_given, "m");
  check_read(rows, options.type.has_value(), "dtype");
  std::vector<Entry> all;
  for (const Row& row : rows) add(all, row, options);
  all = merged(all);
  if (all.empty()) throw InvalidArgument("list", "no problems", "at least one");
  return all;
}

}  // namespace gemwright::lists
