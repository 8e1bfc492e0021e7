#include "formats/quantise/learn.hpp"

#include "device/cpu/thread_pool.hpp"
#include "formats/codebooks.hpp"
#include "formats/quantise/kmeans.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace gemwright::formats {
namespace {

// Scales leave values in [-1, 1], but for rounding.
constexpr int kSteps = 1 << 15;
using Histogram = std::vector<double>;

double importance(const RunValues& run, std::int64_t at) {
  return run.importances.empty()
             ? 1.0
             : static_cast<double>(run.importances[static_cast<std::size_t>(at)]);
}

// The bounds of a codebook's values: absmax scales need only the format.
GroupCoder absmax_coder(const WeightFormat& format, double global) {
  const std::array<float, 2> ends{-1.0F, 1.0F};
  return {format, ends, global};
}

template <typename Step>
void count(Histogram& histogram, const RunValues& run, std::int64_t group, const Step& step_of) {
  for (std::int64_t at = 0; at < std::ssize(run.values); at += group) {
    const auto values = run.group(at, group);
    const double step = step_of(values);
    if (!(step > 0)) continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = std::clamp(static_cast<double>(values[i]) / step, -1.0, 1.0);
      const auto bin = static_cast<std::size_t>(std::nearbyint(x * kSteps) + kSteps);
      histogram[bin] += importance(run, at + static_cast<std::int64_t>(i)) * step * step;
    }
  }
}

std::vector<float> centres_of(const std::vector<Point>& points, int bits) {
  const auto centres = kmeans(points, 1 << bits);
  return {centres.begin(), centres.end()};
}

}  // namespace

std::vector<float> learn_table(const Groups& groups, const Source& source, double global,
                               const GroupScale* tensor) {
  const Runs runs(groups);
  const GroupCoder coder = absmax_coder(groups.format, global);
  // So many histograms, whatever the number of threads: their sums are then always the same.
  constexpr int kParts = 8;
  std::array<Histogram, kParts> parts;
  auto& pool = cpu::ThreadPool::global();
  pool.run(kParts, pool.cores(), [&](int part, int) {
    auto& histogram = parts[static_cast<std::size_t>(part)];
    histogram.assign(2 * kSteps + 1, 0.0);
    RunValues values;
    for (std::int64_t i = part; i < runs.size(); i += kParts) {
      const Run run = runs[i];
      values.read(source, run.at, run.count);
      count(histogram, values, run.group, [&](std::span<const float> group) {
        const std::uint32_t bits =
            tensor != nullptr ? tensor->scale : coder.scale_of(group, {}).scale;
        return scale_value(groups.format.scale, bits) * global;
      });
    }
  });
  std::vector<Point> points;
  for (std::size_t bin = 0; bin < parts[0].size(); ++bin) {
    double weight = 0;
    for (const Histogram& part : parts) weight += part[bin];
    if (weight > 0) points.push_back({static_cast<double>(bin) / kSteps - 1, weight});
  }
  return centres_of(points, groups.format.bits);
}

std::vector<float> learn_row(const WeightFormat& format, const RunValues& row, std::int64_t group,
                             std::span<const GroupScale> scales, double global) {
  std::vector<Point> points;
  for (std::int64_t at = 0; at < std::ssize(row.values); ++at) {
    const GroupScale& scale = scales[static_cast<std::size_t>(at / group)];
    const double step = scale_value(format.scale, scale.scale) * global;
    const double weight = importance(row, at) * step * step;
    const auto value = static_cast<double>(row.values[static_cast<std::size_t>(at)]);
    if (weight > 0) points.push_back({value / step, weight});
  }
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.at < b.at; });
  return centres_of(points, format.bits);
}

}  // namespace gemwright::formats
