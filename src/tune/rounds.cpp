#include "tune/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gemwright::tune {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kFarBehind = 1.2;
constexpr std::size_t kEnoughRounds = 3;
constexpr std::size_t kConfirmed = 12;

// See best(); of the samples from the first on.
double best_of(const std::vector<double>& samples, std::size_t first) {
  double least = kNone;
  double second = kNone;
  for (std::size_t i = first; i < samples.size(); ++i) {
    second = std::min(second, std::max(least, samples[i]));
    least = std::min(least, samples[i]);
  }
  return samples.size() - first < kConfirmed ? least : second;
}

double best_of_all(std::span<const Contender> contenders, const Policy& policy) {
  double least = kNone;
  for (const Contender& contender : contenders) {
    if (contender.out || contender.samples.empty()) continue;
    least = std::min(least, time_of(contender, policy));
  }
  return least;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// How far a contender usually is behind another that was visited in the same rounds. What slows a
// whole round down, as a falling clock does, slows both: rounds of every phase count.
double usual_ratio(const Contender& contender, const Contender& leader) {
  const std::size_t rounds = std::min(contender.samples.size(), leader.samples.size());
  if (rounds == 0) return kNone;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds; ++i) {
    ratios.push_back(contender.samples[i] / leader.samples[i]);
  }
  return median_of(std::move(ratios));
}

// Out is whose best time and whose usual one, round by round, are both behind: the best of four
// samples that each are a tenth too long is 15 % too long once in 400 tunings, which is once too
// often for sixty processes to agree.
void reject(std::span<Contender> contenders, double factor, const Policy& policy) {
  const Contender* leader = nullptr;
  for (const Contender& contender : contenders) {
    if (contender.out || contender.samples.empty()) continue;
    if (leader == nullptr || time_of(contender, policy) < time_of(*leader, policy)) {
      leader = &contender;
    }
  }
  if (leader == nullptr) return;
  const double limit = time_of(*leader, policy) * factor;
  for (Contender& contender : contenders) {
    if (contender.always_final || time_of(contender, policy) <= limit) continue;
    if (usual_ratio(contender, *leader) > factor) contender.out = true;
  }
}

// The best times repeat, and nobody stands so near the edge of the band that one more round might
// move it to the other side.
bool decided(std::span<const Contender> contenders, const Policy& policy) {
  const double spread = noise(contenders, policy);
  if (spread > policy.enough_noise) return false;
  const double edge = best_of_all(contenders, policy) * (1 + policy.band);
  const double unsure = std::max(3 * spread, 2 * policy.enough_noise);
  return std::none_of(contenders.begin(), contenders.end(), [&](const Contender& contender) {
    return !contender.out && std::fabs(time_of(contender, policy) / edge - 1) < unsure;
  });
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

class Rounds {
 public:
  Rounds(std::span<Contender> contenders, const TimeOne& time_one,
         const std::function<bool()>& stop)
      : contenders_(contenders), time_one_(time_one), stop_(stop), begun_(contenders.size()) {}

  void begin_phase() {
    for (std::size_t i = 0; i < begun_.size(); ++i) begun_[i] = contenders_[i].samples.size();
  }

  // At least one round, unless stopped.
  void phase(int most, double seconds, const std::function<bool()>& done) {
    const double end = spent_ + seconds;
    for (int i = 0; i < most && !stopped_; ++i) {
      if (i > 0 && (spent_ >= end || done())) return;
      round();
    }
  }
  int count() const { return rounds_; }

 private:
  void round() {
    const std::size_t first = static_cast<std::size_t>(rounds_) % contenders_.size();
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const std::size_t at = (first + i) % contenders_.size();
      if (contenders_[at].out) continue;
      if (stop_()) {
        stopped_ = true;
        return;
      }
      if (const auto time = time_one_(at)) {
        auto& samples = contenders_[at].samples;
        samples.push_back(time->us);
        if (samples.size() >= begun_[at] + kEnoughRounds) contenders_[at].from = begun_[at];
        spent_ += time->seconds;
      } else {
        contenders_[at].out = true;
      }
    }
    ++rounds_;
  }

  std::span<Contender> contenders_;
  const TimeOne& time_one_;
  const std::function<bool()>& stop_;
  std::vector<std::size_t> begun_;  // samples of each contender when the phase began
  double spent_ = 0;
  int rounds_ = 0;
  bool stopped_ = false;
};

}  // namespace

double best(const Contender& contender) {
  return contender.samples.empty() ? 0 : best_of(contender.samples, contender.from);
}

double median(const Contender& contender) {
  if (contender.samples.empty()) return 0;
  return median_of({contender.samples.begin() + static_cast<std::ptrdiff_t>(contender.from),
                    contender.samples.end()});
}

double time_of(const Contender& contender, const Policy& policy) {
  return policy.by_median ? median(contender) : best(contender);
}

bool unreliable(const Contender& contender, std::span<const Contender> all, const Policy& policy) {
  double calmest = kNone;
  for (const Contender& other : all) {
    if (has_spread(other)) calmest = std::min(calmest, spread(other));
  }
  return has_spread(contender) &&
         (spread(contender) > policy.unreliable * calmest || calmest > policy.wild);
}

int run_rounds(std::span<Contender> contenders, const TimeOne& time_one, const Policy& policy,
               const std::function<bool()>& stop) {
  if (contenders.empty()) return 0;
  Rounds rounds(contenders, time_one, stop);
  const auto never = [] { return false; };
  rounds.phase(policy.first_rounds, policy.early_phase_s, never);
  reject(contenders, policy.first_reject, policy);
  rounds.begin_phase();
  rounds.phase(policy.second_rounds, policy.early_phase_s, never);
  reject(contenders, policy.second_reject, policy);
  rounds.begin_phase();
  const int before = rounds.count();
  const auto done = [&] {
    return rounds.count() - before >= policy.least_final_rounds && decided(contenders, policy);
  };
  rounds.phase(policy.most_final_rounds, policy.final_phase_s, done);
  if (noise(contenders, policy) > policy.band) {
    rounds.phase(policy.most_final_rounds, policy.noisy_phase_s - policy.final_phase_s, done);
  }
  const auto any_unreliable = [&] {
    return std::any_of(contenders.begin(), contenders.end(), [&](const Contender& contender) {
      return unreliable(contender, contenders, policy);
    });
  };
  for (int i = 0; i < policy.repeats && any_unreliable(); ++i) {
    rounds.begin_phase();
    rounds.phase(policy.most_final_rounds, policy.final_phase_s, done);
  }
  return rounds.count();
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
  const double limit = best_of_all(contenders, policy) * (1 + choice.band);
  const auto in_band = [&](const Contender& contender) {
    return !contender.out && !contender.samples.empty() && time_of(contender, policy) <= limit;
  };
  // One whose usual time is far above an equal's is not its equal: it suffers more from whatever
  // else runs.
  double usual = kNone;
  for (const Contender& contender : contenders) {
    if (in_band(contender)) usual = std::min(usual, median(contender));
  }
  for (const std::size_t i : preference) {
    if (!in_band(contenders[i])) continue;
    if (median(contenders[i]) <= usual * (1 + policy.widest_band)) {
      choice.index = static_cast<int>(i);
      return choice;
    }
  }
  return choice;
}

}  // namespace gemwright::tune
