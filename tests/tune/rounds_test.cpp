#include "tune/rounds.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace gemwright::tune {
namespace {

// Candidates of given true times, with noise that only ever adds, as on a shared machine.
class Machine {
 public:
  Machine(std::vector<double> us, double spread, unsigned seed)
      : us_(std::move(us)), spread_(spread), random_(seed), contenders_(us_.size()) {}

  std::optional<SampleTime> operator()(std::size_t i) {
    visits.push_back(i);
    std::exponential_distribution<double> late(1 / spread_);
    const double us = us_[i] * (1 + (spread_ > 0 ? late(random_) : 0));
    return SampleTime{us, us * 1e-6};
  }
  int run(const Policy& policy = {}) {
    return run_rounds(contenders_, std::ref(*this), policy, [] { return false; });
  }
  Choice choice(const Policy& policy = {}) const {
    std::vector<std::size_t> order(us_.size());
    std::iota(order.begin(), order.end(), 0);
    return choose(contenders_, order, policy);
  }
  std::vector<Contender>& contenders() { return contenders_; }

  std::vector<std::size_t> visits;

 private:
  std::vector<double> us_;
  double spread_;
  std::mt19937 random_;
  std::vector<Contender> contenders_;
};

TEST(Rounds, VisitsAllInRotatingOrder) {
  Machine machine({10, 10, 10}, 0, 1);
  machine.run();
  const std::vector<std::size_t> first(machine.visits.begin(), machine.visits.begin() + 9);
  EXPECT_EQ(first, (std::vector<std::size_t>{0, 1, 2, 1, 2, 0, 2, 0, 1}));
}

TEST(Rounds, RejectsTheSlowEarlyAndTheSlowerLate) {
  Machine machine({10, 16, 12, 11}, 0, 1);
  machine.run();
  EXPECT_EQ(machine.contenders()[1].samples.size(), 3U);  // over 1.5
  EXPECT_EQ(machine.contenders()[2].samples.size(), 7U);  // over 1.15
  EXPECT_GE(machine.contenders()[3].samples.size(), 22U);
  EXPECT_EQ(machine.choice().index, 0);
}

TEST(Rounds, TheVendorsFirstChoiceStaysToTheEnd) {
  Machine machine({10, 30}, 0, 1);
  machine.contenders()[1].always_final = true;
  machine.run();
  EXPECT_EQ(machine.contenders()[0].samples.size(), machine.contenders()[1].samples.size());
  EXPECT_EQ(machine.choice().index, 0);
}

TEST(Rounds, ABoostClockAtTheBeginningDecidesNothing) {
  std::vector<Contender> contenders(2);
  const auto sample = [&](std::size_t i) -> std::optional<SampleTime> {
    const bool boosted = i == 1 && contenders[1].samples.size() < 2;
    const double us = i == 0 ? 10 : boosted ? 7 : 10.5;
    return SampleTime{us, us * 1e-6};
  };
  run_rounds(contenders, sample, {}, [] { return false; });
  const std::vector<std::size_t> order{1, 0};
  const Choice choice = choose(contenders, order, {});
  EXPECT_EQ(choice.index, 0);
  EXPECT_EQ(choice.noise, 0);
  EXPECT_EQ(best(contenders[1]), 10.5);
  EXPECT_EQ(median(contenders[1]), 10.5);
}

TEST(Rounds, OneLuckySampleDecidesNothing) {
  for (const std::size_t lucky : {1U, 5U, 20U}) {
    std::vector<Contender> contenders(2);
    const auto sample = [&](std::size_t i) -> std::optional<SampleTime> {
      const double us = i == 1 ? 11 : contenders[0].samples.size() == lucky ? 5 : 12;
      return SampleTime{us, us * 1e-6};
    };
    run_rounds(contenders, sample, {}, [] { return false; });
    const std::vector<std::size_t> order{0, 1};
    EXPECT_EQ(choose(contenders, order, {}).index, 1) << lucky;
  }
}

TEST(Rounds, AClockThatWandersForAllDecidesNothingByMedian) {
  Policy policy;
  policy.by_median = true;
  policy.band = 0.01;
  std::vector<Contender> contenders(2);
  const auto sample = [&](std::size_t i) -> std::optional<SampleTime> {
    // The slower one happens to meet the high clock, twice.
    const std::size_t round = contenders[i].samples.size();
    const double slow = i == 0 ? 1.03 : 1;
    const double clock =
        (round == 12 || round == 17) && i == 0 ? 0.8 : 1 + 0.01 * static_cast<double>(round % 7);
    return SampleTime{10 * slow * clock, 1e-5};
  };
  run_rounds(contenders, sample, policy, [] { return false; });
  const std::vector<std::size_t> order{0, 1};
  EXPECT_EQ(choose(contenders, order, policy).index, 1);
  EXPECT_LT(best(contenders[0]), best(contenders[1])) << "best times would decide otherwise";
}

TEST(Rounds, OneThatFailsIsOutAndTheOthersGoOn) {
  std::vector<Contender> contenders(2);
  const auto sample = [](std::size_t i) -> std::optional<SampleTime> {
    if (i == 0) return std::nullopt;
    return SampleTime{5, 5e-6};
  };
  run_rounds(contenders, sample, {}, [] { return false; });
  EXPECT_TRUE(contenders[0].out);
  EXPECT_TRUE(contenders[0].samples.empty());
  const std::vector<std::size_t> order{0, 1};
  EXPECT_EQ(choose(contenders, order, {}).index, 1);
}

TEST(Rounds, LongSamplesEndPhasesEarly) {
  Machine machine({2e6, 2.1e6}, 0, 1);  // two seconds a run
  EXPECT_EQ(machine.run(), 3);
}

TEST(Rounds, StoppingKeepsWhatIsDone) {
  std::vector<Contender> contenders(2);
  int samples = 0;
  const auto sample = [&](std::size_t i) -> std::optional<SampleTime> {
    ++samples;
    return SampleTime{i == 0 ? 20.0 : 10.0, 1e-5};
  };
  run_rounds(contenders, sample, {}, [&] { return samples >= 3; });
  EXPECT_EQ(samples, 3);
  const std::vector<std::size_t> order{0, 1};
  EXPECT_EQ(choose(contenders, order, {}).index, 1);
}

TEST(Rounds, NothingTimedIsNoChoice) {
  std::vector<Contender> contenders(2);
  const std::vector<std::size_t> order{0, 1};
  EXPECT_EQ(choose(contenders, order, {}).index, -1);
  EXPECT_EQ(run_rounds({}, nullptr, {}, [] { return false; }), 0);
}

TEST(Rounds, TimesThatDoNotRepeatAreTakenAgain) {
  std::vector<Contender> contenders(2);
  int visits = 0;
  // The second is disturbed for as long as the first phases last, and a while longer.
  const auto sample = [&](std::size_t i) -> std::optional<SampleTime> {
    const bool disturbed = i == 1 && ++visits < 120 && visits % 3 != 0;
    const double us = i == 0 ? 10 : disturbed ? 900 : 10.1;
    return SampleTime{us, us * 1e-6};
  };
  contenders[1].always_final = true;
  run_rounds(contenders, sample, {}, [] { return false; });
  EXPECT_FALSE(unreliable(contenders[1], contenders, {}));
  EXPECT_EQ(median(contenders[1]), 10.1);
}

TEST(Rounds, TimesThatNeverRepeatAreNoEvidence) {
  std::vector<Contender> contenders(2);
  int visits = 0;
  const auto sample = [&](std::size_t i) -> std::optional<SampleTime> {
    const double us = i == 0 ? 10 : ++visits % 3 != 0 ? 900 : 10.1;
    return SampleTime{us, us * 1e-6};
  };
  contenders[1].always_final = true;
  const int rounds = run_rounds(contenders, sample, {}, [] { return false; });
  EXPECT_LE(rounds, 7 + 4 * Policy{}.most_final_rounds);
  EXPECT_FALSE(unreliable(contenders[0], contenders, {}));
  EXPECT_TRUE(unreliable(contenders[1], contenders, {}));
}

TEST(Rounds, AMachineThatIsNoisyForAllIsStillEvidenceUntilItIsWild) {
  std::vector<Contender> contenders(2);
  contenders[0].samples = {10, 18, 18, 18};
  contenders[1].samples = {20, 36, 40, 36};
  EXPECT_FALSE(unreliable(contenders[0], contenders, {}));
  EXPECT_FALSE(unreliable(contenders[1], contenders, {}));
  for (Contender& contender : contenders) contender.samples.assign({10, 30, 30, 30});
  EXPECT_TRUE(unreliable(contenders[0], contenders, {}));
}

TEST(Choice, WithinTheBandThePreferredOneStays) {
  Machine machine({10.2, 10.0, 10.1}, 0, 1);
  machine.run();
  EXPECT_EQ(machine.choice().index, 0);
  const std::vector<std::size_t> incumbent_first{2, 0, 1};
  EXPECT_EQ(choose(machine.contenders(), incumbent_first, {}).index, 2);
}

TEST(Choice, BeyondTheBandTheFasterOneWins) {
  Machine machine({10.6, 10.0}, 0, 1);
  machine.run();
  EXPECT_EQ(machine.choice().index, 1);
}

TEST(Choice, OnARestlessMachineKinAreEqualsWithinMore) {
  std::vector<Contender> contenders(2);
  const std::vector<std::size_t> order{0, 1};
  for (int i = 0; i < 24; ++i) {
    const double wander = i % 3 == 0 ? 1 : 1.2;
    contenders[0].samples.push_back(10.6 * wander);
    contenders[1].samples.push_back(10.0 * wander);
  }
  EXPECT_EQ(choose(contenders, order, {}).index, 0);
  contenders[1].rival = true;
  EXPECT_EQ(choose(contenders, order, {}).index, 1) << "what another library gains counts";
  contenders[0].rival = true;
  contenders[1].rival = false;
  EXPECT_EQ(choose(contenders, order, {}).index, 1) << "a rival is no kin";
}

TEST(Choice, ANoisyMeasurementWidensTheBand) {
  std::vector<Contender> contenders(2);
  contenders[0].samples = {10.5, 11.2, 10.5, 11.3};
  contenders[1].samples = {10.0, 10.0, 10.0, 10.0};
  const std::vector<std::size_t> order{0, 1};
  const Choice choice = choose(contenders, order, {});
  EXPECT_NEAR(choice.noise, 0.7 / 10.5, 1e-9);
  EXPECT_EQ(choice.index, 0);
}

TEST(Choice, EqualAtBestButUsuallyFarSlowerIsNoEqual) {
  std::vector<Contender> contenders(2);
  contenders[0].samples = {10.0, 90.0, 80.0, 10.0, 70.0};
  contenders[1].samples = {10.1, 10.2, 10.1, 10.1, 10.3};
  const std::vector<std::size_t> order{0, 1};
  EXPECT_EQ(choose(contenders, order, {}).index, 1);
}

TEST(Choice, SixtyNoisyRunsAgree) {
  // Equals, near equals and a slow one, in the model's order; samples up to several times too long.
  for (const auto& us : {std::vector<double>{100, 100, 100, 100}, std::vector<double>{101, 99, 100},
                         std::vector<double>{104, 102, 100, 100}, std::vector<double>{105, 90, 95},
                         std::vector<double>{130, 100, 101.5, 99}}) {
    std::vector<int> wins(us.size());
    for (unsigned seed = 1; seed <= 60; ++seed) {
      Machine machine(us, 0.1, seed);
      machine.run();
      ++wins[static_cast<std::size_t>(machine.choice().index)];
    }
    EXPECT_EQ(*std::max_element(wins.begin(), wins.end()), 60) << testing::PrintToString(wins);
  }
}

TEST(Statistics, BestAndMedian) {
  Contender contender;
  EXPECT_EQ(best(contender), 0);
  EXPECT_EQ(median(contender), 0);
  contender.samples = {4, 1, 3, 2};
  EXPECT_EQ(best(contender), 1);
  EXPECT_EQ(median(contender), 2.5);
  contender.samples.push_back(9);
  EXPECT_EQ(median(contender), 3);
}

}  // namespace
}  // namespace gemwright::tune
