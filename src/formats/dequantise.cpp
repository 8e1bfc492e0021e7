#include "device/cpu/thread_pool.hpp"
#include "formats/error_sums.hpp"
#include "formats/quantise/source.hpp"
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

}  // namespace

void dequantise(const CodedWeight& weight, DataType type, void* out) {
  for_rows(weight, [&](std::int64_t row, const std::vector<double>& line) {
    for (std::int64_t column = 0; column < weight.k; ++column) {
      numeric::store(type, out, row * weight.k + column, line[static_cast<std::size_t>(column)]);
    }
  });
}

namespace formats {

void ErrorSums::add(const ErrorSums& other) {
  error += other.error;
  norm += other.norm;
  largest = std::max(largest, other.largest);
}

WeightError ErrorSums::result() const {
  WeightError result;
  if (error > 0) {
    result.relative = norm > 0 ? std::sqrt(error / norm) : std::numeric_limits<double>::infinity();
  }
  result.snr_db = -20 * std::log10(result.relative);
  result.largest = largest;
  return result;
}

ErrorSums error_sums(const CodedWeight& weight, DataType type, const void* w) {
  std::vector<ErrorSums> rows(static_cast<std::size_t>(weight.n));
  const Source source(w, type, weight.k, {});
  for_rows(weight, [&](std::int64_t row, const std::vector<double>& line) {
    thread_local std::vector<float> values;
    values.resize(line.size());
    source.read(row * weight.k, values);
    ErrorSums& sums = rows[static_cast<std::size_t>(row)];
    for (std::size_t column = 0; column < line.size(); ++column) {
      const auto value = static_cast<double>(values[column]);
      const double error = value - line[column];
      sums.error += error * error;
      sums.norm += value * value;
      sums.largest = std::max(sums.largest, std::fabs(error));
    }
  });
  ErrorSums all;
  for (const ErrorSums& sums : rows) all.add(sums);
  return all;
}

}  // namespace formats

WeightError error_of(const CodedWeight& weight, DataType type, const void* w) {
  return formats::error_sums(weight, type, w).result();
}

}  // namespace gemwright
