// Products in fp64 of lines of a problem's test data: what the reference is made of.
#pragma once

#include "formats/row_decoder.hpp"
#include "tune/random.hpp"
#include <gemwright/problem.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gemwright::tune {

/// Lines of the short side that are multiplied at once, held in registers.
inline constexpr std::int64_t kFewLines = 8;

/// The values of an input, by position in its storage.
class Values {
 public:
  Values(const Problem& problem, Input input, DataType type, std::int64_t elements);
  double at(std::int64_t position) const {
    return static_cast<double>(values_[static_cast<std::size_t>(position % kRandomPeriod)]);
  }
  /// `count` values, `stride` apart.
  void gather(std::int64_t first, std::int64_t stride, std::int64_t count, double* out) const;

 private:
  std::vector<float> values_;
};

/// The rows of A or the columns of B: each a vector along K, in memory or decoded.
struct Lines {
  const Values* values = nullptr;
  std::int64_t line_stride = 0;
  std::int64_t k_stride = 0;
  std::int64_t batch_stride = 0;
  const formats::RowDecoder* decoder = nullptr;
  Activations activations = Activations::as_given;

  /// Elements that are read at a time: lines that are decoded or rounded are read whole.
  std::int64_t chunk(std::int64_t k) const;
  bool whole() const { return decoder != nullptr || activations != Activations::as_given; }
  void read(std::int64_t batch, std::int64_t line, std::int64_t first, std::int64_t count,
            double* out) const;
};

Lines rows_of(const Problem& problem, const Values& values);
Lines columns_of(const Problem& problem, const Values& values);

struct Product {
  double sum = 0;
  double norm = 0;  // ||a|| ||b|| / sqrt(K)
};

/// Products of every line of `few` (at most kFewLines) with every line of `many`; [many][few].
std::vector<Product> products(const Lines& few_lines, std::span<const std::int64_t> few,
                              const Lines& many_lines, std::span<const std::int64_t> many,
                              std::int64_t batch, std::int64_t k, int threads);

/// Runs `work` on so many threads, this one among them.
void on_threads(int threads, const std::function<void()>& work);

}  // namespace gemwright::tune
