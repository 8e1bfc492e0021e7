#include "tune/reference.hpp"

#include "numeric/convert.hpp"
#include "problem/extent.hpp"
#include "tune/low_bit.hpp"
#include "tune/products.hpp"
#include "tune/sampling.hpp"
#include "tune/testbed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace gemwright::tune {
namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

// Test data are near 1: with smaller factors fp32 does not overflow.
bool extreme_factors(const Problem& problem) {
  constexpr float kLarge = 0x1p96F;
  return !(std::fabs(problem.alpha) <= kLarge && std::fabs(problem.beta) <= kLarge);
}

double accumulation_error(const Problem& problem, double sum, double norm) {
  constexpr double u = 0x1p-24;
  const auto k = static_cast<double>(problem.k);
  double error = u * (8 * std::sqrt(k) + k / 2) * (norm + std::fabs(sum));
  if (problem.allow_tf32) error += 0x1p-10 * (8 * norm + 2 * std::fabs(sum));
  if (problem.activations == Activations::e4m3) error += 0x1p-8 * (norm + 2 * std::fabs(sum));
  return error;
}

// What is so large is rounded to an infinity.
double least_infinite(DataType type) {
  switch (type) {
    case DataType::f32:
      return 0x1.FFFFFFp127;
    case DataType::f16:
      return 65520;
    case DataType::bf16:
      return 0x1.FFp127;
  }
  return 0;
}

// What an element of D is the sum of.
struct Terms {
  double value = 0;
  double rest = 0;  // magnitudes of all terms but the product's
  // The terms above 0, and those below. In fp32 each may overflow where `value` does not.
  double most = 0;
  double least = 0;

  void add(double term) {
    value += term;
    rest += std::fabs(term);
    most += std::max(term, 0.0);
    least += std::min(term, 0.0);
  }
};

// An infinite alpha leaves only the sign of the sum, which rounding decides where that is near 0.
Terms product_term(const Problem& problem, const Product& product) {
  if (problem.k == 0) return {};  // whatever alpha is
  const double alpha = problem.alpha;
  const double error = accumulation_error(problem, product.sum, product.norm);
  const auto [low, high] =
      std::minmax({alpha * (product.sum - error), alpha * (product.sum + error)});
  Terms terms;
  terms.value = alpha * product.sum;
  terms.most = std::max(high, 0.0);
  terms.least = std::min(low, 0.0);
  return terms;
}

// Turns products into what D must be.
class Epilogue {
 public:
  explicit Epilogue(const Problem& problem) : problem_(problem) {
    if (problem.c)
      c_.emplace(problem, Input::c, problem.c->type,
                 span_elements(*problem.c, problem.m, problem.n, problem.batch));
    if (problem.bias != Bias::none) {
      bias_.emplace(problem, Input::bias, problem.bias_type,
                    problem.bias == Bias::per_row ? problem.m : problem.n);
    }
  }

  Sample apply(std::int64_t batch, std::int64_t row, std::int64_t col,
               const Product& product) const {
    const Problem& p = problem_;
    Terms terms = product_term(p, product);
    if (c_ && p.beta != 0) {
      terms.add(static_cast<double>(p.beta) *
                c_->at(batch * p.c->batch_stride + row * p.c->row_stride + col * p.c->col_stride));
    }
    if (bias_) terms.add(bias_->at(p.bias == Bias::per_row ? row : col));
    Sample sample{batch, row, col, terms.value};
    sample.tolerance = tolerance(p, product.sum, product.norm, terms.rest, terms.value);
    const double limit = least_infinite(p.d.type);
    sample.maybe_infinity = terms.most > kLargestFloat || terms.value + sample.tolerance >= limit;
    sample.maybe_minus_infinity =
        terms.least < -kLargestFloat || terms.value - sample.tolerance <= -limit;
    return sample;
  }

 private:
  const Problem& problem_;
  std::optional<Values> c_;
  std::optional<Values> bias_;
};

double unit_roundoff(DataType type) {
  switch (type) {
    case DataType::f32:
      return 0x1p-24;
    case DataType::f16:
      return 0x1p-11;
    case DataType::bf16:
      return 0x1p-8;
  }
  return 0;
}

double least_denormal(DataType type) {
  return type == DataType::f16 ? 0x1p-24 : 0x1p-126;
}

bool matches(double got, const Sample& sample) {
  const bool either = sample.maybe_infinity && sample.maybe_minus_infinity;
  if (std::isnan(got)) return std::isnan(sample.value) || either;
  if (std::isinf(got)) return got > 0 ? sample.maybe_infinity : sample.maybe_minus_infinity;
  return std::isfinite(sample.value) && std::fabs(got - sample.value) <= sample.tolerance;
}

}  // namespace

double tolerance(const Problem& problem, double sum, double norm, double rest, double value) {
  constexpr double u = 0x1p-24;
  const double error = accumulation_error(problem, sum, norm);
  const double alpha = std::fabs(static_cast<double>(problem.alpha));
  const double total = alpha * error + 4 * u * (alpha * std::fabs(sum) + rest);
  return total + unit_roundoff(problem.d.type) * (std::fabs(value) + total) +
         least_denormal(problem.d.type);
}

Reference::Reference(const Problem& problem, int threads)
    : problem_(problem), overflows_(extreme_factors(problem)) {
  const std::int64_t b_elements =
      problem.weight     ? 0
      : problem.b.packed ? problem.k * problem.n
                         : span_elements(problem.b, problem.k, problem.n, problem.batch);
  const Values a(problem, Input::a, problem.a.type,
                 span_elements(problem.a, problem.m, problem.k, problem.batch));
  const Values b(problem, Input::b, problem.b.type, b_elements);
  const Lines rows = rows_of(problem, a);
  std::optional<CodedWeight> weight;
  std::optional<formats::RowDecoder> decoder;
  Lines columns = columns_of(problem, b);
  if (problem.weight) {
    weight = test_weight(problem);
    columns = {.decoder = &decoder.emplace(*weight, problem.b.type)};
  }
  const Epilogue epilogue(problem);
  for (const SampleBlock& block : sample_blocks(problem)) {
    const bool few_rows = block.rows.size() <= block.cols.size();
    const auto& few = few_rows ? block.rows : block.cols;
    const auto& many = few_rows ? block.cols : block.rows;
    for (std::size_t at = 0; at < few.size(); at += kFewLines) {
      const std::span<const std::int64_t> group(
          few.data() + at, std::min(few.size() - at, static_cast<std::size_t>(kFewLines)));
      const auto results = products(few_rows ? rows : columns, group, few_rows ? columns : rows,
                                    many, block.batch, problem.k, threads);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const std::int64_t one = group[i % group.size()];
        const std::int64_t other = many[i / group.size()];
        const Sample& sample = samples_.emplace_back(epilogue.apply(
            block.batch, few_rows ? one : other, few_rows ? other : one, results[i]));
        places_.push_back(sample.batch * problem.d.batch_stride +
                          sample.row * problem.d.row_stride + sample.col * problem.d.col_stride);
        overflows_ = overflows_ || sample.maybe_infinity || sample.maybe_minus_infinity;
      }
    }
  }
}

std::string Reference::check_written(const Written& written) const {
  const Problem& p = problem_;
  if (written.outside) return "wrote outside of D";
  const std::int64_t stored = span_elements(p.d, p.m, p.n, p.batch);
  const std::int64_t gaps = stored - p.m * p.n * p.batch;
  if (written.poison > gaps) {
    return fmt::format("left {} elements of D unwritten", written.poison - gaps);
  }
  if (written.poison < gaps) {
    return fmt::format("wrote {} elements between D's", gaps - written.poison);
  }
  if (written.nan > written.poison && !extreme_factors(p)) {
    return fmt::format("wrote {} NaN", written.nan - written.poison);
  }
  return {};
}

std::string Reference::check(Testbed& testbed) const {
  std::string failure = check_written(testbed.written());
  if (!failure.empty()) return failure;
  const std::vector<double> values = testbed.values(places_);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const Sample& sample = samples_[i];
    if (matches(values[i], sample)) continue;
    if (wrong++ == 0) {
      failure = fmt::format("D[{},{},{}] is {:.6g}, should be {:.6g} within {:.2g}", sample.batch,
                            sample.row, sample.col, values[i], sample.value, sample.tolerance);
    }
  }
  if (wrong > 1) failure += fmt::format("; {} of {} samples are wrong", wrong, samples_.size());
  return failure;
}

}  // namespace gemwright::tune
