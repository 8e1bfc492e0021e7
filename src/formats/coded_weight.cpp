#include "formats/groups.hpp"
#include <gemwright/errors.hpp>
#include <gemwright/weights.hpp>

#include <algorithm>
#include <string>

namespace gemwright {
namespace {

void check_count(const char* field, std::size_t given, std::int64_t wanted) {
  if (static_cast<std::int64_t>(given) == wanted) return;
  throw InvalidArgument(std::string("weight.") + field, std::to_string(given) + " entries",
                        std::to_string(wanted));
}

void check_codes(const CodedWeight& weight) {
  const unsigned largest = (1U << weight.format.bits) - 1;
  const auto found = std::find_if(weight.codes.begin(), weight.codes.end(),
                                  [largest](std::uint8_t code) { return code > largest; });
  if (found != weight.codes.end()) {
    throw InvalidArgument("weight.codes", std::to_string(*found),
                          "0 to " + std::to_string(largest));
  }
}

void check_zeros(const CodedWeight& weight) {
  if (weight.format.zero != Zero::integer) return;
  const std::uint32_t largest = std::min((1U << weight.format.bits), 255U);
  for (const std::uint32_t zero : weight.zeros) {
    if (zero > largest) {
      throw InvalidArgument("weight.zeros", std::to_string(zero),
                            "0 to " + std::to_string(largest));
    }
  }
}

void check_order(const CodedWeight& weight) {
  std::vector<bool> seen(weight.order.size());
  for (const std::int32_t column : weight.order) {
    if (column < 0 || column >= weight.k || seen[static_cast<std::size_t>(column)]) {
      throw InvalidArgument("weight.order", std::to_string(column),
                            "every column from 0 to K - 1 once");
    }
    seen[static_cast<std::size_t>(column)] = true;
  }
}

}  // namespace

void CodedWeight::check() const {
  format.check();
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (n < 0 || n > kMost) throw InvalidArgument("weight.n", std::to_string(n), "0 to 2^40");
  if (k < 0 || k > kMost) throw InvalidArgument("weight.k", std::to_string(k), "0 to 2^40");
  if (k > 0 && n > kMost / k) throw InvalidArgument("weight.n * k", "more", "0 to 2^40");
  const std::int64_t scale_count = formats::Groups{format, n, k}.count();
  const std::int64_t entries = std::int64_t{1} << format.bits;
  check_count("codes", codes.size(), n * k);
  check_count("scales", scales.size(), scale_count);
  check_count("zeros", zeros.size(), format.zero == Zero::symmetric ? 0 : scale_count);
  check_count("table", table.size(),
              format.codes == Codes::learned           ? entries
              : format.codes == Codes::learned_per_row ? n * entries
                                                       : 0);
  check_count("order", order.size(), format.ordered ? k : 0);
  check_codes(*this);
  check_zeros(*this);
  check_order(*this);
}

}  // namespace gemwright
