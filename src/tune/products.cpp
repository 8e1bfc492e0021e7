#include "tune/products.hpp"

#include "device/cpu/helpers.hpp"
#include "numeric/convert.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

namespace gemwright::tune {
namespace {

constexpr std::int64_t kDepthAtOnce = 2048;  // of K, so that both sides stay in the L1 cache
constexpr std::int64_t kDepthHeld = 128 * kDepthAtOnce;  // of K, for which the short side is held

// Products of kFewLines lines with one line, accumulated over chunks of K.
struct Accumulator {
  std::array<double, kFewLines> sums{};
  double square = 0;

  void add(const double* few, const double* line, std::int64_t count) {
    std::array<double, kFewLines> partial{};
    double squares = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::int64_t i = 0; i < kFewLines; ++i) {
        partial[static_cast<std::size_t>(i)] += few[k * kFewLines + i] * line[k];
      }
      squares += line[k] * line[k];
    }
    for (std::size_t i = 0; i < kFewLines; ++i) sums[i] += partial[i];
    square += squares;
  }
};

}  // namespace

Values::Values(const Problem& problem, Input input, DataType type, std::int64_t elements)
    : values_(static_cast<std::size_t>(std::min(elements, kRandomPeriod))) {
  const auto period = random_period(type, input, input_scale(problem, input), elements);
  for (std::int64_t i = 0; i < std::ssize(values_); ++i) {
    values_[static_cast<std::size_t>(i)] =
        static_cast<float>(numeric::load(type, period.data(), i));
  }
}

void Values::gather(std::int64_t first, std::int64_t stride, std::int64_t count,
                    double* out) const {
  std::int64_t at = first % kRandomPeriod;
  const std::int64_t step = stride % kRandomPeriod;
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(values_[static_cast<std::size_t>(at)]);
    at += step;
    if (at >= kRandomPeriod) at -= kRandomPeriod;
  }
}

std::int64_t Lines::chunk(std::int64_t k) const {
  return decoder != nullptr ? k : std::min(k, kDepthAtOnce);
}

void Lines::read(std::int64_t batch, std::int64_t line, std::int64_t first, std::int64_t count,
                 double* out) const {
  if (decoder != nullptr) {
    decoder->decode(line, out);
  } else {
    values->gather(batch * batch_stride + line * line_stride + first * k_stride, k_stride, count,
                   out);
  }
}

Lines rows_of(const Problem& problem, const Values& values) {
  return {&values, problem.a.row_stride, problem.a.col_stride, problem.a.batch_stride, nullptr};
}

Lines columns_of(const Problem& problem, const Values& values) {
  if (problem.b.packed) return {&values, 1, problem.n, 0, nullptr};
  return {&values, problem.b.col_stride, problem.b.row_stride, problem.b.batch_stride, nullptr};
}

std::vector<Product> products(const Lines& few_lines, std::span<const std::int64_t> few,
                              const Lines& many_lines, std::span<const std::int64_t> many,
                              std::int64_t batch, std::int64_t k, int threads) {
  const bool decoded = few_lines.decoder != nullptr || many_lines.decoder != nullptr;
  const std::int64_t block = decoded ? k : std::min(k, kDepthHeld);
  std::vector<double> few_values(static_cast<std::size_t>(block * kFewLines), 0.0);
  std::array<double, kFewLines> few_squares{};
  std::vector<Accumulator> accumulators(many.size());
  for (std::int64_t from = 0; from < k; from += block) {
    const std::int64_t size = std::min(block, k - from);
    std::vector<double> whole(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < few.size(); ++i) {
      few_lines.read(batch, few[i], from, size, whole.data());
      for (std::int64_t j = 0; j < size; ++j) {
        const double value = whole[static_cast<std::size_t>(j)];
        few_values[static_cast<std::size_t>(j * kFewLines) + i] = value;
        few_squares[i] += value * value;
      }
    }
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      const std::int64_t chunk = many_lines.chunk(size);
      std::vector<double> line(static_cast<std::size_t>(chunk));
      for (std::size_t j = next++; j < many.size(); j = next++) {
        for (std::int64_t at = 0; at < size; at += chunk) {
          const std::int64_t count = std::min(chunk, size - at);
          many_lines.read(batch, many[j], from + at, count, line.data());
          accumulators[j].add(few_values.data() + at * kFewLines, line.data(), count);
        }
      }
    };
    on_threads(many.size() > 32 ? threads : 1, work);
  }

  std::vector<Product> results(many.size() * few.size());
  const double root = std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1)));
  for (std::size_t j = 0; j < many.size(); ++j) {
    for (std::size_t i = 0; i < few.size(); ++i) {
      const double norms = std::sqrt(few_squares[i] * accumulators[j].square);
      results[j * few.size() + i] = {accumulators[j].sums[i], norms / root};
    }
  }
  return results;
}

void on_threads(int threads, const std::function<void()>& work) {
  const auto helpers = cpu::start_helpers(static_cast<std::size_t>(std::max(threads, 1) - 1), work);
  work();
}

}  // namespace gemwright::tune
