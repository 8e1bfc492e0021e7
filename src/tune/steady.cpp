#include "tune/steady.hpp"

#include <algorithm>
#include <cmath>

namespace gemwright::tune {
namespace {

// Samples before, and as many after, by whose median the clock is judged.
constexpr std::size_t kNeighbours = 3;
// Rounds of telling contenders from the clock by turns. The first is nearly right, since rounds
// are interleaved.
constexpr int kRounds = 3;

// log(us) of a sample, which is the contender's own and the clock's.
struct TimedSample {
  std::size_t turn;
  std::size_t contender;
  std::size_t index;  // among the contender's
  double value;
  double shared = 0;  // the clock's part
};

double middle_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// In the order in which they were taken.
std::vector<TimedSample> samples_of(std::span<const Contender> contenders) {
  std::vector<TimedSample> samples;
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    const Contender& contender = contenders[c];
    if (contender.out || contender.turns.size() != contender.samples.size()) continue;
    for (std::size_t i = contender.from; i < contender.samples.size(); ++i) {
      samples.push_back({contender.turns[i], c, i, std::log(contender.samples[i])});
    }
  }
  std::sort(samples.begin(), samples.end(),
            [](const TimedSample& a, const TimedSample& b) { return a.turn < b.turn; });
  return samples;
}

// What each contender takes by itself.
std::vector<double> typical(std::span<const TimedSample> samples, std::size_t contenders) {
  std::vector<std::vector<double>> own(contenders);
  for (const TimedSample& sample : samples)
    own[sample.contender].push_back(sample.value - sample.shared);
  std::vector<double> medians(contenders);
  for (std::size_t c = 0; c < contenders; ++c) {
    if (!own[c].empty()) medians[c] = middle_of(own[c]);
  }
  return medians;
}

// Of each sample, by the others around it; nothing where these are too few to tell.
void share(std::span<TimedSample> samples, std::span<const double> own) {
  std::vector<double> near;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    near.clear();
    const std::size_t end = std::min(samples.size(), i + kNeighbours + 1);
    for (std::size_t j = i - std::min(i, kNeighbours); j < end; ++j) {
      if (j != i) near.push_back(samples[j].value - own[samples[j].contender]);
    }
    samples[i].shared = near.size() < kNeighbours ? 0 : middle_of(near);
  }
}

}  // namespace

std::vector<Contender> steadied(std::span<const Contender> contenders) {
  std::vector<Contender> result(contenders.begin(), contenders.end());
  std::vector<TimedSample> samples = samples_of(contenders);
  for (int round = 0; round < kRounds; ++round) {
    share(samples, typical(samples, contenders.size()));
  }
  for (const TimedSample& sample : samples) {
    result[sample.contender].samples[sample.index] *= std::exp(-sample.shared);
  }
  return result;
}

}  // namespace gemwright::tune
