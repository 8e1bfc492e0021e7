#include "device/cpu/thread_pool.hpp"
#include "formats/row_decoder.hpp"
#include "numeric/convert.hpp"
#include <gemwright/weights.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gemwright {
namespace {

using formats::ceil_div;
using formats::RowDecoder;

constexpr std::int64_t kRowsATask = 16;

// Calls visit(row, values) for every row, on all cores.
template <typename Visit>
void for_rows(const CodedWeight& weight, const Visit& visit) {
  weight.check();
  const RowDecoder decoder(weight);
  auto& pool = cpu::ThreadPool::global();
  std::vector<std::vector<double>> lines(static_cast<std::size_t>(pool.cores() + 1));
  for (auto& line : lines) line.resize(static_cast<std::size_t>(weight.k));
  const auto tasks = static_cast<int>(ceil_div(weight.n, kRowsATask));
  pool.run(tasks, pool.cores(), [&](int task, int participant) {
    std::vector<double>& line = lines[static_cast<std::size_t>(participant)];
    const std::int64_t end = std::min((task + 1) * kRowsATask, weight.n);
    for (std::int64_t row = task * kRowsATask; row < end; ++row) {
      decoder.decode(row, line.data());
      visit(row, line);
    }
  });
}

struct Sums {
  double error = 0;
  double norm = 0;
  double largest = 0;
};

}  // namespace

void dequantise(const CodedWeight& weight, DataType type, void* out) {
  for_rows(weight, [&](std::int64_t row, const std::vector<double>& line) {
    for (std::int64_t column = 0; column < weight.k; ++column) {
      numeric::store(type, out, row * weight.k + column, line[static_cast<std::size_t>(column)]);
    }
  });
}

WeightError error_of(const CodedWeight& weight, DataType type, const void* w) {
  // One sum a row, so that the result does not depend on the threads.
  std::vector<Sums> rows(static_cast<std::size_t>(weight.n));
  for_rows(weight, [&](std::int64_t row, const std::vector<double>& line) {
    Sums& sums = rows[static_cast<std::size_t>(row)];
    for (std::int64_t column = 0; column < weight.k; ++column) {
      const double value = numeric::load(type, w, row * weight.k + column);
      const double error = value - line[static_cast<std::size_t>(column)];
      sums.error += error * error;
      sums.norm += value * value;
      sums.largest = std::max(sums.largest, std::fabs(error));
    }
  });
  Sums all;
  for (const Sums& sums : rows) {
    all.error += sums.error;
    all.norm += sums.norm;
    all.largest = std::max(all.largest, sums.largest);
  }
  WeightError result;
  if (all.error > 0) {
    result.relative =
        all.norm > 0 ? std::sqrt(all.error / all.norm) : std::numeric_limits<double>::infinity();
  }
  result.snr_db = -20 * std::log10(result.relative);
  result.largest = all.largest;
  return result;
}

}  // namespace gemwright
