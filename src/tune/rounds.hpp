// Interleaved rounds of timing, and the choice among what they timed. Knows no device.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gemwright::tune {

/// How long to measure and when to stop caring.
struct Policy {
  int first_rounds = 3;
  double first_reject = 1.5;  // times the best: not worth another round
  int second_rounds = 4;
  double second_reject = 1.15;
  int least_final_rounds = 24;
  int most_final_rounds = 100;
  /// Time spent on samples after which a phase ends early, with one round done at least.
  double early_phase_s = 0.7;
  double final_phase_s = 2.5;
  /// The final phase lasts this long where the best times do not even repeat within the band.
  double noisy_phase_s = 6;
  /// Candidates within this of the best are its equals; the noise where that is more, up to the
  /// widest.
  double band = 0.03;
  double widest_band = 0.1;
  /// Final rounds go on until the times repeat within this.
  double enough_noise = 0.01;
  /// Contenders are compared by their median instead of their best time. Where power limits the
  /// clock it wanders by a fifth, for all of a round alike, and the best time is that of whoever
  /// met the highest clock.
  bool by_median = false;
  /// A time whose median is further above its best than this many times what the calmest contender
  /// shows is not to be relied upon, nor is any when even the calmest is beyond the second number.
  /// The final phase is then repeated, so often at most.
  double unreliable = 1.5;
  double wild = 2.5;
  int repeats = 2;
};

/// One sample: time per run, and the time that it took in all.
struct SampleTime {
  double us = 0;
  double seconds = 0;
};

/// Times contender i once; nothing when it failed: it is then out.
using TimeOne = std::function<std::optional<SampleTime>(std::size_t contender)>;

struct Contender {
  bool always_final = false;    // the vendor's first choice: ratios to it are to be honest
  std::vector<double> samples;  // us per run, one a round
  std::size_t from = 0;  // earlier ones were taken while the clock still fell, and do not count
  bool out = false;      // rejected or failed
};

/// Least and median of a contender's samples; 0 when it has none. From twelve samples on the least
/// is the second least: what happened once, such as weights found in a cache, decides nothing.
double best(const Contender& contender);
double median(const Contender& contender);
/// The one of the two that the policy compares by.
double time_of(const Contender& contender, const Policy& policy);

/// Whether a contender's times are no evidence, beside those of all: OpenMP's threads, for one,
/// wait for each other by spinning, and take a hundred times as long where others use the cores. A
/// machine that is noisy for everybody is not meant: ratios between medians are then still right.
bool unreliable(const Contender& contender, std::span<const Contender> all, const Policy& policy);

/// Visits all contenders that are not out in every round, beginning with another each time. Once a
/// phase has three rounds, those of the phases before it do not count any more: a boost clock at
/// the beginning favours whom it meets. The final phase is repeated while times in it are
/// unreliable. Stops early when `stop` says so. Returns the number of
/// rounds.
int run_rounds(std::span<Contender> contenders, const TimeOne& time_one, const Policy& policy,
               const std::function<bool()>& stop);

/// How well the times repeat: the largest relative difference, over contenders still in, between
/// the time of even and of odd rounds. 0 with fewer than two rounds.
double noise(std::span<const Contender> contenders, const Policy& policy);

struct Choice {
  int index = -1;  // -1 when nothing was timed
  double noise = 0;
  double band = 0;
};

/// The first, in the order of preference given, of the contenders whose time is within the noise
/// band of the best, and whose median is within the widest band of the least median among
/// them: the same machine gives the same answer twice.
Choice choose(std::span<const Contender> contenders, std::span<const std::size_t> preference,
              const Policy& policy);

}  // namespace gemwright::tune
