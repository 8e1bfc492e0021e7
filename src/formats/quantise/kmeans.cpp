#include "formats/quantise/kmeans.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace gemwright::formats {
namespace {

// Sums over the points before each, about their mean: close to 0 no digits are lost.
class Sums {
 public:
  explicit Sums(std::span<const Point> points)
      : weight_(points.size() + 1), first_(points.size() + 1), second_(points.size() + 1) {
    double total = 0;
    for (const Point& point : points) {
      total += point.weight;
      origin_ += point.weight * point.at;
    }
    origin_ /= total;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double at = points[i].at - origin_;
      weight_[i + 1] = weight_[i] + points[i].weight;
      first_[i + 1] = first_[i] + points[i].weight * at;
      second_[i + 1] = second_[i] + points[i].weight * at * at;
    }
  }

  // Of the points [begin, end) as one cluster.
  double cost(std::size_t begin, std::size_t end) const {
    const double first = first_[end] - first_[begin];
    const double weight = weight_[end] - weight_[begin];
    return std::max(0.0, second_[end] - second_[begin] - first * first / weight);
  }
  double centre(std::size_t begin, std::size_t end) const {
    return origin_ + (first_[end] - first_[begin]) / (weight_[end] - weight_[begin]);
  }

 private:
  double origin_ = 0;
  std::vector<double> weight_;
  std::vector<double> first_;
  std::vector<double> second_;
};

// One more cluster: from the best costs with j clusters those with j + 1, and where the last
// begins.
class Layer {
 public:
  Layer(const Sums& sums, const std::vector<double>& before, std::vector<double>& after,
        std::vector<std::uint32_t>& begins)
      : sums_(sums), before_(before), after_(after), begins_(begins) {}

  // For ends in [from, to], whose last clusters begin in [low, high].
  void fill(std::size_t from, std::size_t to, std::size_t low, std::size_t high) {
    if (from > to) return;
    const std::size_t end = from + (to - from) / 2;
    double best = std::numeric_limits<double>::infinity();
    std::size_t best_begin = low;
    for (std::size_t begin = low; begin <= std::min(high, end - 1); ++begin) {
      const double cost = before_[begin] + sums_.cost(begin, end);
      if (cost >= best) continue;
      best = cost;
      best_begin = begin;
    }
    after_[end] = best;
    begins_[end] = static_cast<std::uint32_t>(best_begin);
    if (end > from) fill(from, end - 1, low, best_begin);
    fill(end + 1, to, best_begin, high);
  }

 private:
  const Sums& sums_;
  const std::vector<double>& before_;
  std::vector<double>& after_;
  std::vector<std::uint32_t>& begins_;
};

}  // namespace

std::vector<double> kmeans(std::span<const Point> points, int count) {
  std::vector<double> centres;
  if (points.size() <= static_cast<std::size_t>(count)) {
    for (const Point& point : points) centres.push_back(point.at);
    centres.resize(static_cast<std::size_t>(count), points.empty() ? 0 : points.back().at);
    return centres;
  }
  const Sums sums(points);
  const std::size_t size = points.size();
  std::vector<double> before(size + 1, std::numeric_limits<double>::infinity());
  for (std::size_t end = 1; end <= size; ++end) before[end] = sums.cost(0, end);
  std::vector<std::vector<std::uint32_t>> begins;
  for (int clusters = 2; clusters <= count; ++clusters) {
    const auto least = static_cast<std::size_t>(clusters);
    std::vector<double> after(size + 1, std::numeric_limits<double>::infinity());
    begins.emplace_back(size + 1);
    Layer(sums, before, after, begins.back()).fill(least, size, least - 1, size - 1);
    before = std::move(after);
  }
  std::size_t end = size;
  for (int clusters = count; clusters >= 1; --clusters) {
    const std::size_t begin =
        clusters == 1 ? 0 : begins[static_cast<std::size_t>(clusters - 2)][end];
    centres.push_back(sums.centre(begin, end));
    end = begin;
  }
  std::reverse(centres.begin(), centres.end());
  return centres;
}

}  // namespace gemwright::formats
