#include "lists/csv.hpp"

#include "files/parse_json.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <utility>

namespace gemwright::lists {
namespace {

constexpr std::string_view kSpace = " \t\r";

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }

  // No cells for a line that is passed over.
  CsvRecord record() {
    CsvRecord record{line_, {}};
    skip_space();
    if (at_end() || text_.front() == '\n' || text_.front() == '#') {
      take(std::min(text_.find('\n'), text_.size()));
      end_line();
      return record;
    }
    do {
      skip_space();
      record.cells.push_back(text_.starts_with('"') ? quoted() : plain());
    } while (take_comma());
    end_line();
    return record;
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view taken = text_.substr(0, size);
    text_.remove_prefix(size);
    return taken;
  }

  void skip_space() { take(std::min(text_.find_first_not_of(kSpace), text_.size())); }

  bool take_comma() {
    const bool comma = text_.starts_with(',');
    if (comma) take(1);
    return comma;
  }

  void end_line() {
    if (!at_end()) take(1);
    ++line_;
  }

  // Up to a comma or the line's end, without the space before it.
  std::string plain() {
    const std::string_view cell = take(std::min(text_.find_first_of(",\n"), text_.size()));
    return std::string(cell.substr(0, cell.find_last_not_of(kSpace) + 1));
  }

  std::string quoted() {
    const std::string place = "line " + std::to_string(line_);
    std::string cell;
    take(1);
    while (true) {
      const std::size_t end = text_.find('"');
      if (end == std::string_view::npos) {
        throw InvalidArgument(place, "a quote that does not end", "quotes in pairs");
      }
      cell += take(end);
      take(1);
      if (!text_.starts_with('"')) break;
      cell += take(1);  // a doubled one
    }
    line_ += static_cast<int>(std::count(cell.begin(), cell.end(), '\n'));
    skip_space();
    if (!at_end() && text_.front() != ',' && text_.front() != '\n') {
      throw InvalidArgument(place, files::shortened(plain()) + " behind a quoted cell", "a comma");
    }
    return cell;
  }

  std::string_view text_;
  int line_ = 1;
};

}  // namespace

std::vector<CsvRecord> read_csv(std::string_view text) {
  std::vector<CsvRecord> records;
  Reader reader(text);
  while (!reader.at_end()) {
    CsvRecord record = reader.record();
    if (!record.cells.empty()) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace gemwright::lists
