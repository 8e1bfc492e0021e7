// A predicted time and what bounds it.
#pragma once

#include <gemwright/plan.hpp>

namespace gemwright {

struct Estimate {
  double us = 0;
  Bound bound = Bound::memory;
};

}  // namespace gemwright
