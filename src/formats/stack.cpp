#include <gemwright/errors.hpp>
#include <gemwright/weights.hpp>

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

namespace gemwright {
namespace {

using Weights = std::span<const CodedWeight>;

// Bits, so that a NaN equals itself.
bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

template <typename Same>
bool all_same(Weights weights, const Same& same) {
  return std::all_of(weights.begin(), weights.end(),
                     [&](const CodedWeight& weight) { return same(weight, weights.front()); });
}

// Groups that a weight's last row would share with the next weight's first.
bool ends_inside_group(const CodedWeight& weight) {
  const std::int64_t group = weight.format.group;
  if (weight.format.grouping == Grouping::block) return weight.n % group != 0;
  return weight.format.grouping == Grouping::flat && weight.n * weight.k % group != 0;
}

void check_fits(const CodedWeight& weight, const CodedWeight& first, bool last,
                const std::string& name) {
  if (weight.format != first.format) {
    throw InvalidArgument(name + ".format", key(weight.format),
                          key(first.format) + ", as the first");
  }
  if (weight.k != first.k) {
    throw InvalidArgument(name + ".k", std::to_string(weight.k),
                          std::to_string(first.k) + ", as the first");
  }
  if (weight.order != first.order) {
    throw InvalidArgument(name + ".order", "another", "that of the first");
  }
  if (!same_bits({weight.global_scale}, {first.global_scale})) {
    throw InvalidArgument(name + ".global_scale", fmt::format("{}", weight.global_scale),
                          fmt::format("{}, as the first: quantise them as one weight, for scales "
                                      "of the format hold no product of two",
                                      first.global_scale));
  }
  if (!last && ends_inside_group(weight)) {
    throw InvalidArgument(
        name + ".n", std::to_string(weight.n),
        fmt::format("whole groups of {} in all but the last", weight.format.group));
  }
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from, std::int64_t times = 1) {
  to.reserve(to.size() + from.size() * static_cast<std::size_t>(times));
  for (std::int64_t i = 0; i < times; ++i) to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

CodedWeight stack(Weights weights) {
  if (weights.empty()) throw InvalidArgument("weights", "none", "one or more");
  const CodedWeight& first = weights.front();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string name = fmt::format("weights[{}]", i);
    try {
      weights[i].check();
    } catch (const InvalidArgument& error) {
      throw error.within(name);
    }
    check_fits(weights[i], first, i + 1 == weights.size(), name);
  }

  // What each weight has one of, its rows have one of each: equal values either way.
  const bool one_scale = all_same(weights, [](const auto& x, const auto& y) {
    return x.scales == y.scales && x.zeros == y.zeros;
  });
  const bool one_table =
      all_same(weights, [](const auto& x, const auto& y) { return same_bits(x.table, y.table); });
  CodedWeight all{.format = first.format,
                  .k = first.k,
                  .order = first.order,
                  .global_scale = first.global_scale};
  const bool of_tensor = first.format.grouping == Grouping::tensor;
  const bool learned = first.format.codes == Codes::learned;
  if (of_tensor && !one_scale) all.format.grouping = Grouping::row;
  if (learned && !one_table) all.format.codes = Codes::learned_per_row;
  all.format.check();

  for (const CodedWeight& weight : weights) {
    const bool is_first = &weight == &first;
    all.n += weight.n;
    append(all.codes, weight.codes);
    const std::int64_t scales = !of_tensor ? 1 : !one_scale ? weight.n : is_first ? 1 : 0;
    append(all.scales, weight.scales, scales);
    append(all.zeros, weight.zeros, scales);
    append(all.table, weight.table, !learned ? 1 : !one_table ? weight.n : is_first ? 1 : 0);
  }
  return all;
}

}  // namespace gemwright
