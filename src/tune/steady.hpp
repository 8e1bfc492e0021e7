// Takes out of interleaved samples what the clock did to all of them alike.
#pragma once

#include "tune/contender.hpp"

#include <span>
#include <vector>

namespace gemwright::tune {

/// The contenders; of those still in, the samples that count without what the samples taken just
/// before and after share with them, be they of the same contender or of others. Where power limits
/// a GPU's clock it moves by a fifth within tenths of a second, in steps that last for a few
/// samples: even and odd rounds then repeat within 1 to 5 %, and within 0.2 to 0.5 % without what
/// neighbours share (docs/performance/tuner.md). Contenders without turns are left as they are.
std::vector<Contender> steadied(std::span<const Contender> contenders);

}  // namespace gemwright::tune
