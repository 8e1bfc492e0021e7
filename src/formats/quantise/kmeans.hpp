// Optimal codebooks: weighted k-means in one dimension, solved exactly.
#pragma once

#include <span>
#include <vector>

namespace gemwright::formats {

/// Many values in one place.
struct Point {
  double at = 0;
  double weight = 0;
};

/// The `count` centres, in increasing order, that minimise the weighted squared distances to the
/// nearest: the minimum itself, not a local one. Points are sorted, weights positive. Where there
/// are fewer points than centres the last point is repeated; without points all are 0.
///
/// Clusters are intervals, so the best cost of i points in j clusters is a recurrence over the last
/// cluster's begin; that begin never moves left as i grows, which halves the search at each level:
/// O(count n log n) (Wang and Song 2011; Gronlund et al. 2017).
std::vector<double> kmeans(std::span<const Point> points, int count);

}  // namespace gemwright::formats
