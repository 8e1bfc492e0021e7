// Interleaved rounds of timing. Knows no device.
#pragma once

#include "tune/contender.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

namespace gemwright::tune {

/// One sample: time per run, and the time that it took in all.
struct SampleTime {
  double us = 0;
  double seconds = 0;
};

/// Times contender i once; nothing when it failed: it is then out.
using TimeOne = std::function<std::optional<SampleTime>(std::size_t contender)>;

/// Visits all contenders that are not out in every round, beginning with another each time. Once a
/// phase has three rounds, those of the phases before it do not count any more: a boost clock at
/// the beginning favours whom it meets. The final phase is repeated while times in it are
/// unreliable. Stops early when `stop` says so. Returns the number of
/// rounds.
int run_rounds(std::span<Contender> contenders, const TimeOne& time_one, const Policy& policy,
               const std::function<bool()>& stop);

}  // namespace gemwright::tune
