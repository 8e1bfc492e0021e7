// CPU kernels and libraries timed against each other with cold weights.
#pragma once

#include "support/cpu_peers.hpp"
#include "tune/contender.hpp"
#include "tune/memory.hpp"
#include <gemwright/device.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace gemwright::bench {

/// Of the clock that races are timed by.
double seconds_now();
/// From now on, what the calling thread has had of a core: of use for one thread only, on a machine
/// that others use too.
void count_own_time();

/// Random weights from which copies are cut in turn, so that each is cold: a run reads memory that
/// was last read before `bytes` of others. The layout does not matter to the values, and fp32 may
/// be cut from bf16.
class ColdWeights {
 public:
  ColdWeights(DataType type, std::size_t bytes);
  const void* next(std::size_t bytes);

 private:
  std::size_t bytes_;
  tune::Pages pages_;
  std::size_t at_ = 0;
};

/// Reads a copy of the weights and does nothing with it: what memory allows at that moment.
Runner reader(const Problem& problem, const Device& device, int threads);

/// Adds the `most` best configurations (by the model; 0: all) of a family as competitors. They
/// share one workspace, since they run one after the other.
void add_family(const char* name, const char* group, const Problem& problem, const Device& device,
                const Operands& x, int most, std::vector<Runner>& runners);

struct Timed {
  const Runner* runner = nullptr;
  std::vector<double> seconds;
  double best() const;
  double median() const;
  /// As the tuner sees it.
  tune::Contender contender(bool rival) const;
};

/// Interleaved rounds; what is far behind the best of its group leaves early. A runner that takes
/// long needs no warm-up: what it would warm is a small part of its time.
std::vector<Timed> race(const std::vector<Runner>& runners, ColdWeights& weights, double budget);

/// Starts the program once more with an environment in which oneDNN's threads do not spin and
/// OpenBLAS knows the CPU; returns in the second. To be called first in main.
void prepare_peers(char** argv);

}  // namespace gemwright::bench
