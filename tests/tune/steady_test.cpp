#include "tune/steady.hpp"

#include "tune/rounds.hpp"

#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace gemwright::tune {
namespace {

// A machine whose clock moves in steps, by up to a fourth, that last for `length` samples.
class Wandering {
 public:
  Wandering(std::vector<double> us, int length) : us_(std::move(us)), length_(length) {}

  std::optional<SampleTime> operator()(std::size_t i) {
    if (visits_++ % length_ == 0) clock_ = std::uniform_real_distribution<double>(1, 1.25)(random_);
    const double us = us_[i] * clock_ * std::uniform_real_distribution<double>(1, 1.002)(random_);
    return SampleTime{us, us * 1e-6};
  }

 private:
  std::vector<double> us_;
  int length_;
  int visits_ = 0;
  double clock_ = 1;
  std::mt19937 random_{7};
};

Policy by_median() {
  Policy policy;
  policy.by_median = true;
  return policy;
}

TEST(Steady, TellsContendersFromTheClock) {
  const std::vector<double> us{100, 101, 100.5, 104, 107};
  std::vector<Contender> contenders(us.size());
  run_rounds(contenders, Wandering(us, 8), by_median(), [] { return false; });
  const auto steady = steadied(contenders);
  for (std::size_t i = 1; i < us.size(); ++i) {
    EXPECT_NEAR(median(steady[i]) / median(steady[0]), us[i] / us[0], 0.002) << i;
  }
  EXPECT_LT(noise(steady, by_median()), 0.004);
  EXPECT_GT(noise(contenders, by_median()), 2 * noise(steady, by_median()));
}

TEST(Steady, WhatOneDoesByItselfStaysItsOwn) {
  // The second takes longer in every fifth round, whatever the others do.
  std::vector<Contender> contenders(3);
  const auto sample = [&](std::size_t i) -> std::optional<SampleTime> {
    const bool late = i == 1 && contenders[1].samples.size() % 5 == 4;
    return SampleTime{late ? 15.0 : 10.0, 1e-5};
  };
  run_rounds(contenders, sample, by_median(), [] { return false; });
  const auto steady = steadied(contenders);
  EXPECT_EQ(median(steady[1]), 10);
  EXPECT_EQ(steady[1].samples.back(), contenders[1].samples.back());
  EXPECT_EQ(steady[0].samples, contenders[0].samples);
}

TEST(Steady, LeavesWhatHasNoTurnsOrIsOutOrDoesNotCount) {
  std::vector<Contender> contenders(3);
  for (Contender& contender : contenders) contender.samples = {10, 20, 10, 20, 10, 20, 10};
  contenders[1].turns = {0, 2, 4, 6, 8, 10, 12};
  contenders[1].out = true;
  contenders[2].turns = {1, 3, 5, 7, 9, 11, 13};
  contenders[2].from = 2;
  const auto steady = steadied(contenders);
  EXPECT_EQ(steady[0].samples, contenders[0].samples);
  EXPECT_EQ(steady[1].samples, contenders[1].samples);
  EXPECT_EQ(steady[2].samples[0], 10);
  EXPECT_EQ(steady[2].samples[1], 20);
  EXPECT_NE(steady[2].samples[3], 20);
}

}  // namespace
}  // namespace gemwright::tune
