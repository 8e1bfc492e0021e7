// What was timed, turned into an answer: who is chosen, and whose times are no evidence.
#pragma once

#include "tune/measure.hpp"
#include "tune/tuner.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace gemwright::tune {

/// Sets the result's choice, ruling, margin, noise and what others took, and of the outcomes that
/// were timed (`indices`, one for each of `timed`) their times, or why those are none.
///
/// Within the noise band of the best the incumbent stays (an index of the outcomes; -1: none), else
/// the first of them; on a machine that others use too the band is the share that they took. Where
/// times do not repeat, or that machine's are all far beyond what is predicted, they decide
/// nothing: the incumbent stays, else the model's choice.
void decide(Result& result, std::span<const Timed> timed, std::span<const std::size_t> indices,
            int incumbent, const Policy& policy, const Surroundings& surroundings);

}  // namespace gemwright::tune
