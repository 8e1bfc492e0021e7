#include "tune/products.hpp"

#include "device/cpu/helpers.hpp"
#include "numeric/activations.hpp"
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

// A whole row as the product has it: codes times their scale.
void round(Activations activations, std::span<double> row) {
  std::vector<float> codes(row.begin(), row.end());
  const double scale = numeric::round_activations(activations, codes);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = scale * codes[i];
}

// Products of few lines with many, summed over as much of K as was added.
class Sums {
 public:
  Sums(const Lines& few_lines, std::span<const std::int64_t> few, const Lines& many_lines,
       std::span<const std::int64_t> many, std::int64_t batch, int threads)
      : few_lines_(few_lines),
        few_(few),
        many_lines_(many_lines),
        many_(many),
        batch_(batch),
        threads_(threads),
        accumulators_(many.size()) {}

  // The first `depth` of K, `block` at a time.
  void add(std::int64_t depth, std::int64_t block) {
    for (std::int64_t from = 0; from < depth; from += block) {
      const std::int64_t size = std::min(block, depth - from);
      hold(from, size);
      std::atomic<std::size_t> next{0};
      const auto work = [&] {
        std::vector<double> line(static_cast<std::size_t>(many_lines_.chunk(size)));
        for (std::size_t j = next++; j < many_.size(); j = next++) add(j, from, size, line);
      };
      on_threads(many_.size() > 32 ? threads_ : 1, work);
    }
  }

  void multiply(double factor) {
    for (double& square : few_squares_) square *= factor;
    for (Accumulator& accumulator : accumulators_) {
      for (double& sum : accumulator.sums) sum *= factor;
      accumulator.square *= factor;
    }
  }

  std::vector<Product> products(std::int64_t k) const {
    std::vector<Product> results(many_.size() * few_.size());
    const double root = std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1)));
    for (std::size_t j = 0; j < many_.size(); ++j) {
      for (std::size_t i = 0; i < few_.size(); ++i) {
        const double norms = std::sqrt(few_squares_[i] * accumulators_[j].square);
        results[j * few_.size() + i] = {accumulators_[j].sums[i], norms / root};
      }
    }
    return results;
  }

 private:
  // Interleaves the few lines.
  void hold(std::int64_t from, std::int64_t size) {
    few_values_.assign(static_cast<std::size_t>(size * kFewLines), 0.0);
    std::vector<double> whole(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < few_.size(); ++i) {
      few_lines_.read(batch_, few_[i], from, size, whole.data());
      for (std::int64_t j = 0; j < size; ++j) {
        const double value = whole[static_cast<std::size_t>(j)];
        few_values_[static_cast<std::size_t>(j * kFewLines) + i] = value;
        few_squares_[i] += value * value;
      }
    }
  }

  void add(std::size_t j, std::int64_t from, std::int64_t size, std::vector<double>& line) {
    const std::int64_t chunk = std::ssize(line);
    for (std::int64_t at = 0; at < size; at += chunk) {
      const std::int64_t count = std::min(chunk, size - at);
      many_lines_.read(batch_, many_[j], from + at, count, line.data());
      accumulators_[j].add(few_values_.data() + at * kFewLines, line.data(), count);
    }
  }

  const Lines& few_lines_;
  std::span<const std::int64_t> few_;
  const Lines& many_lines_;
  std::span<const std::int64_t> many_;
  std::int64_t batch_;
  int threads_;
  std::vector<double> few_values_;
  std::array<double, kFewLines> few_squares_{};
  std::vector<Accumulator> accumulators_;
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
  return whole() ? k : std::min(k, kDepthAtOnce);
}

void Lines::read(std::int64_t batch, std::int64_t line, std::int64_t first, std::int64_t count,
                 double* out) const {
  if (decoder != nullptr) {
    decoder->decode(line, out);
  } else {
    values->gather(batch * batch_stride + line * line_stride + first * k_stride, k_stride, count,
                   out);
    if (activations != Activations::as_given)
      round(activations, {out, static_cast<std::size_t>(count)});
  }
}

Lines rows_of(const Problem& problem, const Values& values) {
  return {&values, problem.a.row_stride, problem.a.col_stride, problem.a.batch_stride,
          nullptr, problem.activations};
}

Lines columns_of(const Problem& problem, const Values& values) {
  if (problem.b.packed) return {&values, 1, problem.n, 0, nullptr};
  return {&values, problem.b.col_stride, problem.b.row_stride, problem.b.batch_stride, nullptr};
}

std::vector<Product> products(const Lines& few_lines, std::span<const std::int64_t> few,
                              const Lines& many_lines, std::span<const std::int64_t> many,
                              std::int64_t batch, std::int64_t k, int threads) {
  Sums sums(few_lines, few, many_lines, many, batch, threads);
  const bool whole = few_lines.whole() || many_lines.whole();
  if (!whole && k > kRandomPeriod) {
    // Along K both sides repeat, whatever their strides.
    sums.add(kRandomPeriod, kDepthHeld);
    const std::int64_t repeats = k / kRandomPeriod;
    sums.multiply(static_cast<double>(repeats));
    sums.add(k % kRandomPeriod, kDepthHeld);
  } else {
    sums.add(k, whole ? k : kDepthHeld);
  }
  return sums.products(k);
}

void on_threads(int threads, const std::function<void()>& work) {
  const auto helpers = cpu::start_helpers(static_cast<std::size_t>(std::max(threads, 1) - 1), work);
  work();
}

}  // namespace gemwright::tune
