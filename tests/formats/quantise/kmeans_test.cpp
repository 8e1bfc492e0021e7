#include "formats/quantise/kmeans.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace gemwright::formats {
namespace {

double cost(const std::vector<Point>& points, const std::vector<double>& centres) {
  double sum = 0;
  for (const Point& point : points) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const double centre : centres) {
      nearest = std::min(nearest, (point.at - centre) * (point.at - centre));
    }
    sum += point.weight * nearest;
  }
  return sum;
}

// Every way to cut the points into so many intervals.
double least_cost(const std::vector<Point>& points, std::size_t begin, int clusters) {
  if (clusters == 0) return begin == points.size() ? 0 : std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t end = begin + 1; end <= points.size(); ++end) {
    double weight = 0;
    double first = 0;
    for (std::size_t i = begin; i < end; ++i) {
      weight += points[i].weight;
      first += points[i].weight * points[i].at;
    }
    double own = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double distance = points[i].at - first / weight;
      own += points[i].weight * distance * distance;
    }
    best = std::min(best, own + least_cost(points, end, clusters - 1));
  }
  return best;
}

TEST(Kmeans, FindsTheLeastCostOfAll) {
  std::mt19937 random(1);
  std::normal_distribution<double> at;
  std::uniform_real_distribution<double> weight(0.1, 10);
  for (int round = 0; round < 50; ++round) {
    std::vector<Point> points(4 + random() % 9);
    for (Point& point : points) point = {at(random), weight(random)};
    std::sort(points.begin(), points.end(), [](auto& a, auto& b) { return a.at < b.at; });
    for (const int count : {1, 2, 3, 4}) {
      const auto centres = kmeans(points, count);
      ASSERT_EQ(centres.size(), static_cast<std::size_t>(count));
      EXPECT_TRUE(std::is_sorted(centres.begin(), centres.end()));
      EXPECT_NEAR(cost(points, centres), least_cost(points, 0, count), 1e-9) << count;
    }
  }
}

TEST(Kmeans, TakesFewPoints) {
  EXPECT_EQ(kmeans({}, 2), (std::vector<double>{0, 0}));
  const std::vector<Point> one{{3, 1}};
  EXPECT_EQ(kmeans(one, 4), (std::vector<double>{3, 3, 3, 3}));
  const std::vector<Point> equal(10, {2, 1});
  for (const double centre : kmeans(equal, 4)) EXPECT_DOUBLE_EQ(centre, 2);
}

TEST(Kmeans, WeightsCount) {
  const std::vector<Point> points{{0, 1}, {1, 1}, {2, 1000}};
  EXPECT_EQ(kmeans(points, 2), (std::vector<double>{0.5, 2}));
}

}  // namespace
}  // namespace gemwright::formats
