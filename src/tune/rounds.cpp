#include "tune/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace gemwright::tune {
namespace {

constexpr std::size_t kEnoughRounds = 3;

// The one of so many values that a share of them are below.
double quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

// How far a contender is behind another that was visited in the same rounds, in the better quarter
// of these. What slows a whole round down, as a falling clock does, slows both: rounds of every
// phase count.
double lucky_ratio(const Contender& contender, const Contender& leader) {
  const std::size_t rounds = std::min(contender.samples.size(), leader.samples.size());
  if (rounds == 0) return std::numeric_limits<double>::infinity();
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds; ++i) {
    ratios.push_back(contender.samples[i] / leader.samples[i]);
  }
  return quantile(std::move(ratios), 0.25);
}

// Out is who is behind, and in most of the rounds too: the best of four samples that each are a
// tenth too long is 15 % too long once in 400 tunings, and where others use the memory two of the
// first three samples of the fastest may be twice too long.
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
    if (lucky_ratio(contender, *leader) > factor) contender.out = true;
  }
}

// The times repeat, and nobody stands so near the edge of the band that one more round might
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
        contenders_[at].turns.push_back(turn_++);
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
  std::size_t turn_ = 0;
  bool stopped_ = false;
};

}  // namespace

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
  const auto any_unreliable = [&] {
    return std::any_of(contenders.begin(), contenders.end(), [&](const Contender& contender) {
      return unreliable(contender, contenders, policy);
    });
  };
  const auto done = [&] {
    return rounds.count() - before >= policy.least_final_rounds &&
           decided(comparable(contenders, policy), policy) && !any_unreliable();
  };
  rounds.phase(policy.most_final_rounds, policy.final_phase_s, done);
  if (noise(comparable(contenders, policy), policy) > policy.band) {
    rounds.phase(policy.most_final_rounds, policy.noisy_phase_s - policy.final_phase_s, done);
  }
  for (int i = 0; i < policy.repeats && any_unreliable(); ++i) {
    rounds.begin_phase();
    rounds.phase(policy.most_final_rounds, policy.final_phase_s, done);
  }
  return rounds.count();
}

}  // namespace gemwright::tune
