#include "tune/contender.hpp"

#include "tune/steady.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gemwright::tune {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kFarBehind = 1.2;
constexpr std::size_t kConfirmed = 12;

// The samples that count.
std::vector<double> counted(const Contender& contender) {
  return {contender.samples.begin() + static_cast<std::ptrdiff_t>(contender.from),
          contender.samples.end()};
}

// See time_of().
double faster_half(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 20);
  const auto end = samples.begin() + static_cast<std::ptrdiff_t>((samples.size() + 1) / 2);
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// A contender with every second of the samples that count, from one of them on.
Contender every_second(const Contender& contender, std::size_t first) {
  Contender half;
  for (std::size_t i = contender.from + first; i < contender.samples.size(); i += 2) {
    half.samples.push_back(contender.samples[i]);
  }
  return half;
}

bool has_spread(const Contender& contender) {
  return !contender.out && contender.samples.size() >= contender.from + 2;
}

// How far above its best a contender's usual time is; 1 when it always takes the same.
double spread(const Contender& contender) {
  return median(contender) / best(contender);
}

// The least spread of all; 1 when there is none.
double calmest(std::span<const Contender> contenders) {
  double least = kNone;
  for (const Contender& contender : contenders) {
    if (has_spread(contender)) least = std::min(least, spread(contender));
  }
  return least == kNone ? 1 : least;
}

// Those among which the order of preference decides.
class Equals {
 public:
  Equals(std::span<const Contender> contenders, double band, const Policy& policy)
      : policy_(policy), restless_(calmest(contenders) > policy.restless) {
    double best_kin = kNone;
    double best_rival = kNone;
    for (const Contender& contender : contenders) {
      if (contender.out || contender.samples.empty()) continue;
      double& best = contender.rival ? best_rival : best_kin;
      best = std::min(best, time_of(contender, policy));
    }
    limit_ = std::min(best_kin, best_rival) * (1 + band);
    if (restless_) {
      kin_limit_ = std::min(best_kin * (1 + policy.kin_band), best_rival * (1 + band));
    }
    for (const Contender& contender : contenders) {
      if (near(contender)) usual_ = std::min(usual_, median(contender));
    }
  }

  // One whose usual time is far above an equal's is not its equal: it suffers more from whatever
  // else runs.
  bool has(const Contender& contender) const {
    const double far = restless_ ? 3 * policy_.kin_band : policy_.widest_band;
    return near(contender) && median(contender) <= usual_ * (1 + far);
  }

 private:
  bool near(const Contender& contender) const {
    if (contender.out || contender.samples.empty()) return false;
    const double us = time_of(contender, policy_);
    return us <= limit_ || (!contender.rival && us <= kin_limit_);
  }

  const Policy& policy_;
  bool restless_;
  double limit_ = 0;
  double kin_limit_ = 0;
  double usual_ = kNone;
};

}  // namespace

double best(const Contender& contender) {
  if (contender.samples.empty()) return 0;
  auto samples = counted(contender);
  const auto at = samples.begin() + (samples.size() < kConfirmed ? 0 : 1);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

double median(const Contender& contender) {
  return contender.samples.empty() ? 0 : median_of(counted(contender));
}

double time_of(const Contender& contender, const Policy& policy) {
  if (policy.by_median || contender.samples.empty()) return median(contender);
  return faster_half(counted(contender));
}

std::vector<Contender> comparable(std::span<const Contender> contenders, const Policy& policy) {
  if (policy.by_median) return steadied(contenders);
  return {contenders.begin(), contenders.end()};
}

bool unreliable(const Contender& contender, std::span<const Contender> all, const Policy& policy) {
  const double calm = calmest(all);
  return has_spread(contender) &&
         (spread(contender) > policy.unreliable * calm || calm > policy.wild);
}

double best_of_all(std::span<const Contender> contenders, const Policy& policy) {
  double least = kNone;
  for (const Contender& contender : contenders) {
    if (contender.out || contender.samples.empty()) continue;
    least = std::min(least, time_of(contender, policy));
  }
  return least;
}

double noise(std::span<const Contender> contenders, const Policy& policy) {
  // One that was kept for the sake of ratios only does not decide.
  const double limit = best_of_all(contenders, policy) * kFarBehind;
  double largest = 0;
  for (const Contender& contender : contenders) {
    if (!has_spread(contender) || time_of(contender, policy) > limit) continue;
    const double even = time_of(every_second(contender, 0), policy);
    const double odd = time_of(every_second(contender, 1), policy);
    largest = std::max(largest, std::fabs(even - odd) / std::min(even, odd));
  }
  return largest;
}

Choice choose(std::span<const Contender> contenders, std::span<const std::size_t> preference,
              const Policy& policy) {
  Choice choice;
  choice.noise = noise(contenders, policy);
  choice.band = std::clamp(choice.noise, policy.band, policy.widest_band);
  const Equals equals(contenders, choice.band, policy);
  for (const std::size_t i : preference) {
    if (!equals.has(contenders[i])) continue;
    choice.index = static_cast<int>(i);
    return choice;
  }
  return choice;
}

}  // namespace gemwright::tune
