#include "tune/low_bit.hpp"

#include "formats/codebooks.hpp"
#include "formats/groups.hpp"
#include "formats/quantise/group_coder.hpp"
#include "numeric/convert.hpp"
#include "tune/random.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <vector>

namespace gemwright::tune {
namespace {

constexpr double kLargestValue = 4;  // of random_period with scale 1

// Entries between -1 and 1 that no 16-bit type holds; another codebook for each row.
std::vector<float> test_table(const WeightFormat& format, std::int64_t rows) {
  const std::int64_t entries = std::int64_t{1} << format.bits;
  std::vector<float> table;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < entries; ++i) {
      const double t = (2.0 * static_cast<double>(i) + 1) / static_cast<double>(entries) - 1;
      const double shrink = 1 - static_cast<double>(row % 7) / 16;
      table.push_back(static_cast<float>(shrink * t * (0.6 + 0.4 * t * t)));
    }
  }
  return table;
}

// One period of codes, or as many as are needed: of near-normal values over a scale that reaches
// them.
std::vector<std::uint8_t> code_period(const CodedWeight& weight) {
  WeightFormat format = weight.format;
  format.scale = ScaleType::f32;
  format.zero = Zero::symmetric;
  const std::size_t entries = std::size_t{1} << format.bits;
  const std::span<const float> table(weight.table.data(), std::min(weight.table.size(), entries));
  const formats::GroupCoder coder(format, table, 1);
  const std::int64_t count = std::min(std::ssize(weight.codes), std::ptrdiff_t{kRandomPeriod});
  const auto bytes = random_period(DataType::f32, Input::b, 1, count);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(
        numeric::load(DataType::f32, bytes.data(), static_cast<std::int64_t>(i)));
  }
  std::vector<std::uint8_t> codes(values.size());
  const auto scale = static_cast<float>(kLargestValue / formats::reach(format));
  coder.code(values, {std::bit_cast<std::uint32_t>(scale), 0}, codes.data());
  return codes;
}

void repeat(const std::vector<std::uint8_t>& period, std::vector<std::uint8_t>& out) {
  for (std::size_t at = 0; at < out.size(); at += period.size()) {
    std::copy_n(period.begin(), std::min(period.size(), out.size() - at),
                out.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

// From 5/8 to 11/8 in steps of 1/8; neighbours differ.
double spread(std::size_t index) {
  return 0.625 + static_cast<double>(index * 5 % 7) / 8;
}

std::vector<std::int32_t> test_order(std::int64_t k) {
  std::int64_t step = k * 5 / 8 + 1;
  while (std::gcd(step, k) != 1) ++step;
  std::vector<std::int32_t> order(static_cast<std::size_t>(k));
  for (std::int64_t j = 0; j < k; ++j) {
    order[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(j * step % k);
  }
  return order;
}

}  // namespace

CodedWeight test_weight(const Problem& problem) {
  CodedWeight weight;
  weight.format = *problem.weight;
  weight.n = problem.n;
  weight.k = problem.k;
  const WeightFormat& format = weight.format;
  if (format.codes == Codes::learned) weight.table = test_table(format, 1);
  if (format.codes == Codes::learned_per_row) weight.table = test_table(format, weight.n);
  weight.codes.resize(static_cast<std::size_t>(weight.n * weight.k));
  if (!weight.codes.empty()) repeat(code_period(weight), weight.codes);

  const double size = input_scale(problem, Input::b) * kLargestValue / formats::reach(format);
  if (format.global_scale) weight.global_scale = static_cast<float>(size);
  const double unit = format.global_scale ? 1 : size;
  weight.scales.resize(
      static_cast<std::size_t>(formats::Groups{format, weight.n, weight.k}.count()));
  for (std::size_t i = 0; i < weight.scales.size(); ++i) {
    weight.scales[i] = formats::scale_bits(format.scale, unit * spread(i));
  }
  if (format.zero != Zero::symmetric) weight.zeros.resize(weight.scales.size());
  for (std::size_t i = 0; i < weight.zeros.size(); ++i) {
    const std::uint32_t middle = (1U << (format.bits - 1)) - 1 + static_cast<std::uint32_t>(i % 3);
    weight.zeros[i] = format.zero == Zero::integer
                          ? middle
                          : formats::scale_bits(format.scale, middle + spread(i) / 2);
  }
  if (format.ordered) weight.order = test_order(weight.k);
  return weight;
}

}  // namespace gemwright::tune
