#include "formats/import/column_groups.hpp"

#include "formats/packed_layout.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <numeric>

namespace gemwright::formats {

void set_groups(WeightFormat& format, std::int64_t k, std::int64_t groups,
                const ImportOptions& options, const std::string& place) {
  format.grouping = Grouping::along_k;
  const auto fits = [&](std::int64_t group) { return ceil_div(k, group) == groups; };
  if (options.group > 0 && fits(options.group)) {
    format.group = options.group;
    return;
  }
  if (options.group <= 0 && groups == 1) {
    format.grouping = Grouping::row;
    format.group = 0;
    return;
  }
  for (const std::int32_t group : {128, 64, 32, 256, 16}) {
    if (options.group > 0 || !fits(group)) continue;
    format.group = group;
    return;
  }
  throw InvalidArgument(place, std::to_string(groups) + " groups for K = " + std::to_string(k),
                        options.group > 0
                            ? "groups of " + std::to_string(options.group) + " columns"
                            : "groups of 16, 32, 64, 128 or 256 columns, or one");
}

void apply_order(CodedWeight& weight, const RawTensor& g_idx) {
  require_shape(g_idx, {weight.k});
  const std::int64_t group = group_columns(weight.format, weight.k);
  std::vector<std::int32_t> order(static_cast<std::size_t>(weight.k));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return g_idx.integer(a) < g_idx.integer(b);
  });
  for (std::int64_t j = 0; j < weight.k; ++j) {
    const std::int64_t is = g_idx.integer(order[static_cast<std::size_t>(j)]);
    if (is == j / group) continue;
    throw InvalidArgument(g_idx.name,
                          "groups of unequal size: a column of group " + std::to_string(is) +
                              " where one of " + std::to_string(j / group) + " should be",
                          "groups of " + std::to_string(group) + " columns");
  }
  if (std::is_sorted(order.begin(), order.end())) return;
  std::vector<std::uint8_t> line(static_cast<std::size_t>(weight.k));
  for (std::int64_t row = 0; row < weight.n; ++row) {
    std::uint8_t* codes = weight.codes.data() + row * weight.k;
    for (std::size_t j = 0; j < line.size(); ++j) line[j] = codes[order[j]];
    std::copy(line.begin(), line.end(), codes);
  }
  weight.format.ordered = true;
  weight.order = std::move(order);
}

void simplify_zeros(CodedWeight& weight) {
  const std::uint32_t middle = 1U << (weight.format.bits - 1);
  const bool all = std::all_of(weight.zeros.begin(), weight.zeros.end(),
                               [middle](std::uint32_t zero) { return zero == middle; });
  if (weight.format.zero != Zero::integer || !all) return;
  weight.format.zero = Zero::symmetric;
  weight.zeros.clear();
}

}  // namespace gemwright::formats
