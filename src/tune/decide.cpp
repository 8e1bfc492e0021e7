#include "tune/decide.hpp"

#include "log/log.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace gemwright::tune {
namespace {

// A time so many times the predicted one is of something else than the kernel.
constexpr double kBeyondBelief = 8;

// A time that does not repeat is no evidence: it is said, and no ratio is made of it.
void distrust(Outcome& outcome) {
  outcome.failure = fmt::format("timing: unreliable, {:.1f} us at best and {:.1f} us usually",
                                outcome.best_us, outcome.median_us);
  outcome.best_us = outcome.median_us = 0;
  outcome.rounds = 0;
  log::warn("{}: {}", label(outcome.candidate), outcome.failure);
}

double over_predicted(double us, const Outcome& outcome) {
  return outcome.candidate.estimate.us > 0 ? us / outcome.candidate.estimate.us : 1;
}

class Decision {
 public:
  Decision(Result& result, std::span<const Timed> timed, std::span<const std::size_t> indices,
           int incumbent, const Policy& policy, const Surroundings& surroundings)
      : result_(result),
        indices_(indices),
        incumbent_(incumbent),
        policy_(policy),
        others_(surroundings.others > kBusy ? surroundings.others : 0) {
    // Times may be off by as much as others took.
    if (others_ > 0) policy_.band = policy_.widest_band = std::max(policy_.widest_band, others_);
    for (const Timed& one : timed) contenders_.push_back(one.contender);
    compared_ = comparable(contenders_, policy_);
    for (std::size_t i = 0; i < timed.size(); ++i) {
      outcome(i).best_us = best(timed[i].contender);
      outcome(i).median_us = median(compared_[i]);
      outcome(i).rounds = timed[i].contender.samples.size() - timed[i].contender.from;
      if (!timed[i].failure.empty()) outcome(i).failure = "timing: " + timed[i].failure;
    }
  }

  void make() {
    const Choice choice = choose(compared_, preference(), policy_);
    result_.noise = choice.noise;
    if (choice.index < 0) return;
    chosen_ = static_cast<std::size_t>(choice.index);
    // Times that do not repeat within three bands are as little worth.
    result_.disturbed = unreliable(contenders_[chosen_], contenders_, policy_) ||
                        choice.noise > 3 * policy_.widest_band ||
                        (others_ > 0 && all_beyond_belief());
    if (result_.disturbed) chosen_ = without_evidence();
    result_.chosen = static_cast<int>(indices_[chosen_]);
    compare();
    result_.ruling = ruling(choice.band);
  }

 private:
  Outcome& outcome(std::size_t i) { return result_.outcomes[indices_[i]]; }
  bool is_incumbent(std::size_t i) const { return static_cast<int>(indices_[i]) == incumbent_; }

  std::vector<std::size_t> preference() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      order.insert(is_incumbent(i) ? order.begin() : order.end(), i);
    }
    return order;
  }

  bool all_beyond_belief() {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const double us = outcome(i).best_us;
      if (us > 0 && over_predicted(us, outcome(i)) < kBeyondBelief) return false;
    }
    return true;
  }

  // The incumbent, else the one with the least predicted time, of those that ran.
  std::size_t without_evidence() {
    std::size_t found = chosen_;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (!outcome(i).failure.empty() || outcome(i).best_us <= 0) continue;
      const double us = is_incumbent(i) ? 0 : outcome(i).candidate.estimate.us;
      if (us < least) found = i;
      least = std::min(least, us);
    }
    return found;
  }

  // So far beyond its prediction, and the chosen one is not, that something else was measured:
  // threads that spin for each other can lose every time slice, and are then slow without any
  // spread.
  bool absurd(std::size_t i) {
    const double usual = over_predicted(outcome(chosen_).median_us, outcome(chosen_));
    return over_predicted(outcome(i).median_us, outcome(i)) > kBeyondBelief * std::max(1.0, usual);
  }

  // The others' times beside the chosen one's. Those of a vendor are ratios' other half.
  void compare() {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (i == chosen_ || outcome(i).best_us <= 0) continue;
      const bool vendor = outcome(i).candidate.family->vendor();
      if (unreliable(contenders_[i], contenders_, policy_) || absurd(i) ||
          (vendor && result_.disturbed)) {
        distrust(outcome(i));
        continue;
      }
      const double us = time_of(compared_[i], policy_);
      second_ = second_ == 0 ? us : std::min(second_, us);
    }
    if (second_ > 0 && !result_.disturbed) {
      result_.margin = second_ / time_of(compared_[chosen_], policy_) - 1;
      if (result_.margin < 0) result_.others = others_;
    }
  }

  Ruling ruling(double band) const {
    if (result_.disturbed) return {Rule::no_evidence, 0};
    const double us = time_of(compared_[chosen_], policy_);
    if (second_ == 0 || us <= second_) return {Rule::fastest, band};
    if (us > second_ * (1 + band)) return {Rule::restless, policy_.kin_band};
    return {others_ > 0 ? Rule::others : Rule::equal, band};
  }

  Result& result_;
  std::span<const std::size_t> indices_;
  int incumbent_;
  Policy policy_;
  double others_;  // share of the CPUs that others took, where it is enough to matter; else 0
  std::vector<Contender> contenders_;
  std::vector<Contender> compared_;  // the same, as their times are compared
  std::size_t chosen_ = 0;
  double second_ = 0;  // the fastest time but the chosen one's, of those that are evidence
};

}  // namespace

void decide(Result& result, std::span<const Timed> timed, std::span<const std::size_t> indices,
            int incumbent, const Policy& policy, const Surroundings& surroundings) {
  Decision(result, timed, indices, incumbent, policy, surroundings).make();
}

}  // namespace gemwright::tune
