// What is timed, how its times are compared, and the choice among several. Knows no device.
#pragma once

#include <cstddef>
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
  /// The final phase lasts this long where times do not even repeat within the band.
  double noisy_phase_s = 6;
  /// Candidates within this of the best are its equals; the noise where that is more, up to the
  /// widest.
  double band = 0.03;
  double widest_band = 0.1;
  /// Where even the calmest contender's median is so many times its best, ratios between processes
  /// wander by 2 to 4 % whatever one process sees: candidates of this library are then equals of
  /// its best within the second number, unless a rival is faster by more than the band.
  double restless = 1.03;
  double kin_band = 0.1;
  /// Final rounds go on until the times repeat within this.
  double enough_noise = 0.01;
  /// Contenders are compared by the median of their samples, steadied() first, instead of the
  /// faster half of them. Where power limits the clock it wanders by a fifth, for all alike, and
  /// the fastest samples are those of whoever met the highest clock.
  bool by_median = false;
  /// A time whose median is further above its best than this many times what the calmest contender
  /// shows is not to be relied upon, nor is any when even the calmest is beyond the second number.
  /// The final phase is then repeated, so often at most.
  double unreliable = 1.5;
  double wild = 2.5;
  int repeats = 2;
};

struct Contender {
  bool always_final = false;    // the vendor's first choice: ratios to it are to be honest
  std::vector<double> samples;  // us per run, one a round
  /// When each was taken: its number among the samples of all. May be left out.
  std::vector<std::size_t> turns;
  std::size_t from = 0;  // earlier ones were taken while the clock still fell, and do not count
  bool out = false;      // rejected or failed
  bool rival = false;    // of another library
};

/// Least and median of a contender's samples; 0 when it has none. From twelve samples on the least
/// is the second least: what happened once, such as weights found in a cache, is no time of it.
double best(const Contender& contender);
double median(const Contender& contender);
/// What contenders are compared by: the mean of the faster half of the samples, but for the fastest
/// twentieth; or the median, where the policy says so. On a machine whose memory others use, ratios
/// of it scatter between processes by 1 to 4 %, where those of the second least do by 2 to 11
/// (docs/performance/tuner.md).
double time_of(const Contender& contender, const Policy& policy);
/// The least of those still in; infinite when there is none.
double best_of_all(std::span<const Contender> contenders, const Policy& policy);

/// The contenders as the policy compares them.
std::vector<Contender> comparable(std::span<const Contender> contenders, const Policy& policy);

/// Whether a contender's times are no evidence, beside those of all: OpenMP's threads, for one,
/// wait for each other by spinning, and take a hundred times as long where others use the cores. A
/// machine that is noisy for everybody is not meant: ratios between medians are then still right.
bool unreliable(const Contender& contender, std::span<const Contender> all, const Policy& policy);

/// How well the times repeat: the largest relative difference, over contenders still in, between
/// the time of even and of odd rounds. 0 with fewer than two rounds.
double noise(std::span<const Contender> contenders, const Policy& policy);

struct Choice {
  int index = -1;  // -1 when nothing was timed
  double noise = 0;
  double band = 0;
};

/// The first, in the order of preference given, of the contenders whose time is within the noise
/// band of the best, and whose median is not far above the least median among them: the same
/// machine gives the same answer twice.
Choice choose(std::span<const Contender> contenders, std::span<const std::size_t> preference,
              const Policy& policy);

}  // namespace gemwright::tune
