#include "tune/sampling.hpp"

#include "problem/extent.hpp"
#include "tune/random.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace gemwright::tune {
namespace {

// Vectors of length K times 8 that the reference multiplies; a tenth of a second on two cores.
constexpr double kBudget = 64e6;
constexpr std::int64_t kLines = 8;
constexpr std::int64_t kSpread = 64;
constexpr std::int64_t kSmallOutput = 1 << 20;

using Indices = std::vector<std::int64_t>;

Indices all_of(std::int64_t size) {
  Indices indices(static_cast<std::size_t>(size));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

void make_distinct(Indices& indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

// First, last, on both sides of edges of power-of-two tiles, and random.
Indices lines(std::int64_t size, std::mt19937_64& random) {
  if (size <= kLines) return all_of(size);
  Indices indices{0, size - 1, (size - 1) / 128 * 128, std::min<std::int64_t>(size - 1, 15)};
  std::uniform_int_distribution<std::int64_t> any(0, size - 1);
  while (std::ssize(indices) < kLines) {
    indices.push_back(any(random));
    if (std::ssize(indices) == kLines) make_distinct(indices);
  }
  return indices;
}

// One of each of `count` stretches; all when there are no more.
Indices stratified(std::int64_t size, std::int64_t count, std::mt19937_64& random) {
  if (size <= count) return all_of(size);
  Indices indices;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * size / count;
    const std::int64_t last = (i + 1) * size / count - 1;
    indices.push_back(std::uniform_int_distribution<std::int64_t>(first, last)(random));
  }
  return indices;
}

Indices batches(std::int64_t size, std::mt19937_64& random) {
  if (size <= 4) return all_of(size);
  std::uniform_int_distribution<std::int64_t> any(1, size - 2);
  Indices indices{0, size - 1, any(random), any(random)};
  make_distinct(indices);
  return indices;
}

// Of K, what the reference multiplies: test data repeat, codes are decoded line by line.
std::int64_t depth_of(const Problem& problem) {
  const std::int64_t most = problem.weight ? problem.k : 2 * kRandomPeriod;
  return std::clamp<std::int64_t>(problem.k, 1, std::max<std::int64_t>(most, 1));
}

}  // namespace

std::vector<SampleBlock> sample_blocks(const Problem& problem) {
  if (has_empty_result(problem)) return {};
  const double few = static_cast<double>(std::min(problem.m, problem.n));
  const double many = static_cast<double>(std::max(problem.m, problem.n));
  const auto depth = static_cast<double>(depth_of(problem));
  const double entries = static_cast<double>(problem.batch);
  std::vector<SampleBlock> blocks;
  if (few * many * entries <= kSmallOutput &&
      (few + kLines - 1) / kLines * many * depth * entries <= kBudget) {
    for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
      blocks.push_back({batch, all_of(problem.m), all_of(problem.n)});
    }
    return blocks;
  }

  std::mt19937_64 random(1);
  const Indices entries_taken = batches(problem.batch, random);
  const double share = kBudget / static_cast<double>(entries_taken.size()) / depth / 2;
  const auto most = static_cast<std::int64_t>(std::clamp(share, 64.0, 65536.0));
  for (const std::int64_t batch : entries_taken) {
    blocks.push_back({batch, lines(problem.m, random), stratified(problem.n, most, random)});
    blocks.push_back({batch, stratified(problem.m, most, random), lines(problem.n, random)});
    blocks.push_back(
        {batch, stratified(problem.m, kSpread, random), stratified(problem.n, kSpread, random)});
  }
  return blocks;
}

}  // namespace gemwright::tune
